use farad::internals::permittivities::{Medium, all, units};
use farad::{
    Conductor, Description, Dielectric, NoProgress, Options, Parameter, Problem, SURROUNDINGS,
    Sensitivity,
};

use crate::testing;

/// A sphere of radius 1 in a coat up to 2 of permittivity 4: a fifth of the energy is in it.
#[test]
fn charges_give_the_shares_of_a_coat_and_what_is_around() {
    let description = Description::default()
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", 4.0)])
        .sensitivities(vec![Sensitivity {
            name: "coat".to_owned(),
            by: Parameter::Permittivity("outer".to_owned()),
        }]);
    let problem = Problem::new(description, testing::shells()).unwrap();
    let solution = problem.solve(&Options::default(), &NoProgress).unwrap();
    let units = units(&solution);
    let whole = all(units)[0][0];
    for (name, expected) in [("outer", 0.2), (SURROUNDINGS, 0.8)] {
        let medium = Medium::new(&problem, name).unwrap();
        let share = medium.by_charges(&problem, units).unwrap()[0][0] / whole;
        // 72 triangles a sphere.
        assert!((share - expected).abs() < 0.03, "{name}: {share}");
    }
}
