use bem::checks::{Finding, Law};
use farad::internals::checks::{
    INDUCED, Induced, balance, entry, fmm_error, gauss, induced, participations, residual,
    unresolved,
};
use farad::{
    Amount, Balance, Charge, Conductor, Derivative, Description, Dielectric, Parameter, Problem,
    SURROUNDINGS, Setting, Unit,
};

use crate::testing;

#[test]
fn shares_that_are_negative_or_do_not_add_up_are_reported() {
    let description = Description::default()
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", 100.0)]);
    let problem = Problem::new(description, testing::shells()).unwrap();
    let of = |name: &str, share: f64| Derivative {
        name: name.to_owned(),
        by: Parameter::Permittivity(name.to_owned()),
        at: Some(1.0),
        unit: Unit::Farad,
        matrices: vec![vec![vec![share]]],
        bars: Vec::new(),
        participation: vec![share],
        participation_bars: Vec::new(),
    };
    let judged = |coat: f64, around: Option<f64>| {
        let all = [Some(of("outer", coat)), around.map(|share| of(SURROUNDINGS, share))];
        participations(&problem, &all.into_iter().flatten().collect::<Vec<Derivative>>())
    };
    assert_eq!(judged(0.034, Some(0.966)), None);
    assert_eq!(judged(0.034, None), None);
    let lacking = judged(0.0244, Some(0.9661)).unwrap();
    let told = "shares of the energy in media are positive and add up to 1, and theirs add up to 1 but for 9.5e-3";
    assert!(lacking.message.contains(told), "{lacking:?}");
    assert!(!lacking.is_error && (lacking.value - 0.0095).abs() < 1e-9, "{lacking:?}");
    let negative = judged(-0.28, None).unwrap();
    assert!(negative.message.contains("one of them is -2.8e-1"), "{negative:?}");
    assert!(negative.is_error && judged(1.02, None).is_some());
}

/// Metal in a coat of low permittivity: of a charge outside, and of a potential, it takes
/// hardly anything. The charge that the solver's tolerance leaves is more than what is induced,
/// and is no fault.
#[test]
fn what_is_induced_on_shielded_metal_is_known_to_the_tolerance() {
    for tolerance in [1e-3, 1e-4, 1e-5] {
        for permittivity in [1e-4, 1e-3, 1.0, 80.0] {
            for potential in [0.0, -16.0] {
                let setting = Some(Setting::Potential(potential));
                let charge = |position| Charge { position, amount: Amount::Coulomb(1e-10) };
                let coat = Dielectric::new("outer", permittivity);
                let description = Description::default()
                    .conductors(vec![Conductor::new("inner").setting(setting)])
                    .dielectrics(vec![coat])
                    .charges(vec![charge([5.0, 3.0, 6.0]), charge([-6.0, 1.0, 2.0])]);
                let problem = Problem::new(description, testing::shells()).unwrap();
                let options =
                    bem::SolveOptions::default().method(bem::Method::Fmm).tolerance(tolerance);
                let solution = problem.solve(&options, &bem::NoProgress).unwrap();
                assert_eq!(solution.warnings, [], "{tolerance:.0e} {permittivity} {potential}");
            }
        }
    }
}

#[test]
fn couplings_that_only_another_net_resolves_are_warnings() {
    let names = ["a", "b", "c"].map(str::to_owned);
    assert_eq!(unresolved(&names, &[]), None);
    let warning = unresolved(&names, &[[1, 0], [1, 2]]).unwrap();
    assert_eq!((warning.what.as_str(), warning.value, warning.is_error), ("C(b, a)", 2.0, false));
    assert!(warning.message.contains("like 1 other entry: choose that net too"), "{warning:?}");
}

/// Warnings on a matrix or a solve say where and what to do.
#[test]
fn warnings_say_what_is_wrong() {
    let names = ["a", "b"].map(str::to_owned);
    let told = |law: Law, c: [[f64; 2]; 2]| {
        let finding = Finding { at: [0, 1], law, value: 0.5, promise: 0.1 };
        let found = entry(&names, &c.map(Vec::from), &finding, "");
        // The promise of the transposed entry is that of the symmetry.
        assert!((found.value - 5.0 * found.promise).abs() < 1e-12, "{found:?}");
        found.message
    };
    let fair = [[2.0, -1.0], [-1.0, 2.0]];
    for (law, part) in [
        (Law::Diagonal, "C(a, a) is not positive: the result is wrong"),
        (Law::OffDiagonal, "C(a, b) is positive, 2.5e-1 of the conductors' own capacitances"),
        (Law::Symmetry, "C(a, b) and C(b, a) differ by 5.0e-1 of the larger, where 1.0e-1"),
        (
            Law::Transposed,
            "C(a, b) was replaced by C(b, a): the charge on \"a\" violates reciprocity by",
        ),
        (Law::RowSum, "row \"a\" of the matrix has a negative sum, 2.5e-1 of its diagonal"),
    ] {
        assert!(told(law, fair).contains(part), "{}", told(law, fair));
    }
    let found = balance(Balance { force: 0.5, torque: 0.1 }).unwrap();
    let part = "the forces on the bodies add up to 5.0e-1 of their sizes and the torques to 1.0e-1";
    assert!(found.message.contains(part), "{found:?}");
    let coated = Description::default()
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", 2.0)]);
    let problem = Problem::new(coated, testing::shells()).unwrap();
    let options = bem::SolveOptions::default().method(bem::Method::Fmm);
    let mut answer = problem.solve(&options, &bem::NoProgress).unwrap().answer;
    let sampled = |conductor| bem::SampledResidual { relative: 0.5, conductor };
    let told = residual(&problem, &answer, &[sampled(Some(0))]).unwrap().message;
    let part = "does not satisfy the equations on conductor \"inner\": the residual there";
    assert!(told.contains(part), "{told}");
    let told = residual(&problem, &answer, &[sampled(None)]).unwrap().message;
    assert!(told.contains("does not satisfy the equations on an interface"), "{told}");
    let told = gauss(Some(0.5), &answer).unwrap().message;
    assert!(told.contains("Gauss's law on a closed interface was off by 5.0e-1"), "{told}");
    answer.fmm_error_sampled = Some(0.5);
    let told = fmm_error(true, &answer, false).unwrap().message;
    assert!(
        told.contains("fast sums differ from direct sums by 5.0e-1, more than the tolerance"),
        "{told}"
    );
    let by = bem::Reciprocity { conductor: 0, charge: 2.0, by_potentials: 1.0, size: 1.0 };
    let told = induced(&problem, &answer, &[Induced { by, besides: 0.0 }]).unwrap().message;
    let part = "the charge that the sources induce on \"inner\" is off by";
    assert!(told.contains(part), "{told}");
    // In one medium ten tolerances are expected, as shares of the charge.
    let metal = Problem::new(Description::default(), testing::sphere()).unwrap();
    let off = |tolerances: f64| {
        let mut answer = answer.clone();
        answer.tolerance = 1e-4;
        let by_potentials = 1.0 + 1e-4 * tolerances;
        let size = answer.maxwell[0][0];
        let (charge, by_potentials) = (size, size * by_potentials);
        let by = bem::Reciprocity { conductor: 0, charge, by_potentials, size };
        induced(&metal, &answer, &[Induced { by, besides: 0.0 }])
    };
    assert_eq!(off(0.9 * INDUCED), None);
    let found = off(1.1 * INDUCED).unwrap();
    assert!((found.promise - 1e-3).abs() < 1e-12 && off(12.0).is_some(), "{found:?}");
}
