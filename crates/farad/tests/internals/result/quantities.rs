//! The numbers of a solution, by key, with their bars.

use farad::{
    Amount, Axis, Charge, Conductor, Description, Key, LengthUnit, Problem, Reduction, Setting,
    Solution,
};

use crate::testing::{cube, joined};

/// Two cubes, one of which floats, and two charges, with all that is found of them.
pub(super) fn solved(error_bars: bool) -> Solution {
    let mesh = joined([("a", cube([0.0; 3])), ("b", cube([2.0, 0.3, 0.0]))]);
    let conductor = |name: &str, group: &str, setting| {
        let groups = vec![group.to_owned()];
        Conductor::default().name(name.to_owned()).groups(groups).setting(Some(setting))
    };
    let charge = |position| Charge { position, amount: Amount::Elementary(1.0) };
    let description = Description::default()
        .unit(LengthUnit::Nanometre)
        .conductors(vec![
            conductor("a", "cube", Setting::Potential(1.0)),
            conductor("b, c", "b_cube", Setting::Charge(1e-19)),
        ])
        .charges(vec![charge([1.0, 1.0, 1.5]), charge([1.0, -1.0, 1.5])])
        .forces(true)
        .polarisability(true)
        .error_bars(error_bars)
        .reductions(vec![
            Reduction::default().name("r".to_owned()),
            Reduction::default()
                .name("pair".to_owned())
                .between(Some(["a", "b, c"].map(str::to_owned))),
        ]);
    Problem::new(description, mesh)
        .unwrap()
        .solve(&farad::Options::default(), &farad::NoProgress)
        .unwrap()
}

#[test]
fn every_number_has_its_name_unit_and_bar() {
    let solution = solved(true);
    let quantities = solution.quantities();
    let named: Vec<String> =
        quantities.iter().map(|(key, found)| format!("{key} [{}]", found.unit)).collect();
    let expected = [
        "Q(a) [C]",
        "V(b, c) [V]",
        "solvation energy [kcal/mol]",
        "Coulomb energy [kcal/mol]",
        "total energy [kcal/mol]",
        "Fx(a) [N]",
        "Fy(a) [N]",
        "Fz(a) [N]",
        "Fx(b, c) [N]",
        "Fy(b, c) [N]",
        "Fz(b, c) [N]",
        "polarisability xx/(4 pi eps0) [nm^3]",
        "polarisability yy/(4 pi eps0) [nm^3]",
        "polarisability zz/(4 pi eps0) [nm^3]",
        "r: C(a, a) [F]",
        "r: C(a, b, c) [F]",
        "r: C(b, c, b, c) [F]",
        "pair: C between a and b, c [F]",
    ];
    assert_eq!(named, expected);
    for (key, found) in &quantities {
        // The energy of the charges alone is exact.
        assert_eq!(found.bar.is_some(), *key != Key::CoulombEnergy, "{key}");
        assert!(found.bar.is_none_or(|bar| bar > 0.0), "{key}: {found:?}");
    }

    // Each has that bar which is its own.
    let state = solution.state.as_ref().unwrap();
    let bar = |wanted: &Key| {
        let (_, found) = quantities.iter().find(|(key, _)| key == wanted).unwrap();
        found.bar.unwrap()
    };
    let [held, floating] = ["a", "b, c"].map(str::to_owned);
    let conductors = &state.conductors;
    assert_eq!(Some(bar(&Key::Charge { conductor: held })), conductors[0].charge_error_c);
    assert_eq!(Some(bar(&Key::Potential { conductor: floating })), conductors[1].potential_error_v);
    let energy = state.solvation.as_ref().unwrap().reaction_error_j.unwrap();
    let energy = farad::units::kilocalorie_per_mole(energy);
    assert_eq!(bar(&Key::SolvationEnergy), energy);
    assert_eq!(bar(&Key::TotalEnergy), energy);
    for axis in Axis::ALL {
        for (body, of) in ["a", "b, c"].into_iter().zip(state.forces.iter().flatten()) {
            assert_eq!(Some(bar(&Key::Force { body: body.to_owned(), axis })), of.newton_error);
        }
        let k = axis.index();
        let diagonal = Key::Polarisability { moment: axis, field: axis };
        let bars = solution.polarisability.unwrap().over_4pi_eps0_error.unwrap();
        assert_eq!(bar(&diagonal), bars[k][k]);
    }
    let of_reductions: Vec<f64> = quantities
        .iter()
        .filter(|(key, _)| matches!(key, Key::Reduced { .. } | Key::Between { .. }))
        .filter_map(|(_, found)| found.bar)
        .collect();
    let reduced = solution.reduced();
    let (matrix, pair) = (reduced[0].bars.as_ref().unwrap(), reduced[1].between_bar.unwrap());
    assert_eq!(of_reductions, [matrix[0][0], matrix[0][1], matrix[1][1], pair]);
}

#[test]
fn without_bars_no_number_has_one() {
    let quantities = solved(false).quantities();
    assert_eq!(quantities.len(), 18);
    assert!(quantities.iter().all(|(_, found)| found.bar.is_none()));
}
