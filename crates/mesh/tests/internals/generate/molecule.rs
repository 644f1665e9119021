use mesh::generate::{Molecule, Resolution};
use mesh::internals::generate::molecule::{Ray, on_spiral};
use mesh::vector::{Vector, norm, scale};

fn directions() -> impl Iterator<Item = Vector> {
    (0..40).map(|i| on_spiral(i, 40))
}

#[test]
fn rays_begin_where_no_atom_is() {
    for count in [1, 2, 3, 4, 7, 30, 300] {
        let atoms = Molecule { atoms: count, resolution: Resolution::Elements(20) };
        let surface = atoms.surface().unwrap();
        let toward =
            surface.atoms.iter().map(|atom| scale(1.0 / norm(atom.position), atom.position));
        for direction in directions().chain(toward) {
            let ray = Ray::new(&surface.atoms, direction, surface.farthest);
            let (level, _) = ray.level(scale(surface.farthest, direction));
            // exp(-30) for each.
            assert!(level < (count as f64).ln() - 29.0, "{count}: {level}");
        }
    }
}

#[test]
fn slopes_are_those_of_the_level() {
    let atoms = Molecule { atoms: 30, resolution: Resolution::Elements(20) };
    let surface = atoms.surface().unwrap();
    for direction in directions() {
        let ray = Ray::new(&surface.atoms, direction, surface.farthest);
        let place = scale(0.9 * surface.farthest, direction);
        let (_, slope) = ray.level(place);
        for axis in 0..3 {
            let at = |step: f64| {
                let mut place = place;
                place[axis] += step;
                ray.level(place).0
            };
            let found = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((found - slope[axis]).abs() < 1e-7 * (1.0 + norm(slope)), "{direction:?}");
        }
    }
}
