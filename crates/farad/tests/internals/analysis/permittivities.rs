use farad::internals::permittivities::{Medium, all, shares, units};
use farad::{
    Conductor, Description, Dielectric, NoProgress, Options, Parameter, Problem, SURROUNDINGS,
    Sensitivity,
};

use crate::testing;

/// A sphere of radius 1 in a coat up to 2 of this permittivity.
fn coated(permittivity: f64) -> Problem {
    let description = Description::default()
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", permittivity)])
        .sensitivities(vec![Sensitivity {
            name: "coat".to_owned(),
            by: Parameter::Permittivity("outer".to_owned()),
        }]);
    Problem::new(description, testing::shells()).unwrap()
}

/// In a coat of permittivity 4 is a fifth of the energy.
#[test]
fn charges_give_the_shares_of_a_coat_and_what_is_around() {
    let problem = coated(4.0);
    let solution = problem.solve(&Options::default(), &NoProgress).unwrap();
    let units = units(&solution);
    let whole = all(units)[0][0];
    let media = ["outer", SURROUNDINGS].map(|name| Medium::new(&problem, name).unwrap());
    let shares = Medium::by_charges(&media, &problem, units).unwrap();
    for (name, (share, expected)) in
        ["outer", SURROUNDINGS].iter().zip(shares.iter().zip([0.2, 0.8]))
    {
        let share = share[0][0] / whole;
        // 72 triangles a sphere.
        assert!((share - expected).abs() < 0.03, "{name}: {share}");
    }
}

/// A permittivity of 1000 next to metal makes an error of 1 % of what little charge is there one of
/// 1 % of all energy, 25 times the share: what all shares lack tells how large it is.
#[test]
fn errors_of_charges_in_high_permittivities_are_seen_in_the_sum_of_shares() {
    let problem = coated(1e3);
    let solution = problem.solve(&Options::default(), &NoProgress).unwrap();
    let media = ["outer", SURROUNDINGS].map(|name| Medium::new(&problem, name).unwrap());
    let found = |change: f64| {
        let mut units = units(&solution).to_vec();
        for unit in &mut units {
            let owners = problem.conductors().of_triangle.iter();
            for (charge, owner) in unit.charge.iter_mut().zip(owners) {
                *charge *= if owner.is_some() { 1.0 + change } else { 1.0 };
            }
        }
        let relative = Some(&[1e-3][..]);
        shares(&problem, &units, &[&media[0], &media[1]], relative, &NoProgress).unwrap()
    };
    let (as_solved, changed) = (found(0.0), found(1e-2));
    for (as_solved, changed) in as_solved.iter().zip(&changed) {
        assert!(changed.are_of_charges);
        let [before, after] = [as_solved, changed].map(|of| of.shares[0][0]);
        assert!((after - before).abs() < changed.bars[0][0], "{before:e}, {after:e}");
        assert!(changed.bars[0][0] < 0.03 * after, "{after:e} +- {:e}", changed.bars[0][0]);
    }
}
