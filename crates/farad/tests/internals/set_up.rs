use farad::{Conductor, Description, Note, Problem};
use mesh::transform::{Motion, moved};

use crate::testing;

#[test]
fn coordinates_with_too_few_digits_are_noted() {
    let notes = |distance: f64| {
        let mesh = testing::sphere();
        let mesh = moved(&mesh, |_| true, &Motion::along([distance, 0.7 * distance, 0.0]));
        let conductors = vec![Conductor::new("sphere")];
        let problem = Problem::new(Description::default().conductors(conductors), mesh);
        problem.unwrap().notes().to_vec()
    };
    for distance in [0.0, 1e3, 1e6] {
        assert_eq!(notes(distance), [], "{distance}");
    }
    for distance in [1e9, 1e12] {
        let [Note::Rounded { share, .. }] = notes(distance)[..] else { panic!("{distance}") };
        // Sides are between 0.3 and 0.6.
        let expected = 0.5 * f64::EPSILON * distance;
        assert!((1.5..4.0).contains(&(share / expected)), "{distance}: {share}");
    }
}
