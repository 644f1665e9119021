//! Which pairs a near field holds, and gaps between sheets.

use bem::internals::geometry::{Neighbours, Panels};
use bem::internals::near::{
    Accuracy, Choice, LayerPairs, PairIntegrals, RowKind, Scratch, smallest_relative_height,
};
use bem::internals::quadrature::Rule;
use mesh::Mesh;
use mesh::generate::{Cube, Molecule, Plate, Resolution, Sphere, SphereBase};

/// The same entries without [`PairIntegrals::largest_errors`].
struct Unbounded<'a>(LayerPairs<'a>);

impl PairIntegrals for Unbounded<'_> {
    type Entry = f64;
    type Scratch = Scratch;

    fn is_symmetric(&self) -> bool {
        self.0.is_symmetric()
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
        self.0.exact(i, j, scratch)
    }

    fn by_points(&self, rules: [&'static Rule; 2], i: usize, j: usize) -> [f64; 2] {
        self.0.by_points(rules, i, j)
    }

    fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
        self.0.weights(panels, i, j)
    }

    fn errors(&self, rules: [&'static Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        self.0.errors(rules, pairs, errors);
    }
}

/// A face that stands on another one's edge is not in front of it; a sheet is, whatever its
/// triangles.
#[test]
fn heights_are_those_of_other_sheets() {
    let resolution = Resolution::Elements(600);
    let rule = Accuracy::new(1e-6, 0).rule;
    let height = |mesh: &Mesh| smallest_relative_height(&Panels::of_mesh(mesh), rule);
    let mut cube = Cube { edge: 1.0, grade: 50.0, resolution }.build().unwrap();
    // Turned, so that places over edges are rounded.
    let (sin, cos) = 0.4f64.sin_cos();
    for [x, y, z] in &mut cube.vertices {
        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
        (*y, *z) = (cos * *y - sin * *z, sin * *y + cos * *z);
    }
    assert_eq!(height(&cube), 1.0);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    assert_eq!(height(&sphere.build().unwrap()), 1.0);
    // Squares of 1/6 cut in halves, as wide as half their diagonal, and long rectangles.
    let plate = |elements: usize| {
        let resolution = Resolution::Elements(elements);
        Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap()
    };
    let (wide, mut long) = (plate(72), plate(200));
    let (gap, width) = (1e-4, 0.5 * 2f64.sqrt() / 6.0);
    long.vertices.iter_mut().for_each(|v| *v = [0.4 * v[0], 30.0 * v[1], gap]);
    let thin = 0.04 * 3.0 / (0.04f64.powi(2) + 9.0).sqrt();
    let mesh = mesh::join::joined(vec![("wide".into(), wide), ("long".into(), long)]);
    let expected = gap / thin.min(width);
    assert!((height(&mesh) / expected - 1.0).abs() < 1e-6, "{} {expected}", height(&mesh));
}

/// Bounds leave out pairs that their errors leave out, and no others.
#[test]
fn bounds_of_errors_change_no_choice() {
    let resolution = Resolution::Elements(400);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution };
    let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
    let plate = Plate { width: 1.0, height: 1.0, grade: 100.0, resolution }.build().unwrap();
    let mut above = plate.clone();
    above.vertices.iter_mut().for_each(|v| *v = [0.1 * v[0], 0.1 * v[1] + 0.3, 0.05]);
    let plates = mesh::join::joined(vec![("a".into(), plate), ("b".into(), above)]);
    let molecule = Molecule { atoms: 4, resolution }.build().unwrap();
    let meshes: [(&str, Mesh); 5] = [
        ("sphere", sphere.build().unwrap()),
        ("cube", cube(1.0)),
        ("graded cube", cube(1000.0)),
        ("plates", plates),
        ("molecule", molecule),
    ];
    for (name, mesh) in meshes {
        let panels = Panels::of_mesh(&mesh);
        for tolerance in [1e-5, 1e-6, 1e-7] {
            let Accuracy { selection, pairs: quadrature, .. } = Accuracy::new(tolerance, 0);
            for kind in [RowKind::Single, RowKind::Adjoint] {
                let kinds: Vec<RowKind> = (0..panels.len())
                    .map(|i| if i % 3 == 0 { RowKind::Single } else { kind })
                    .collect();
                let pairs = || LayerPairs::new(&panels, &kinds, quadrature);
                let (bounded, plain) = (pairs(), Unbounded(pairs()));
                let reach = selection.reach(&panels);
                let search = Neighbours::new(panels.centroids(), &reach);
                let (mut walk, mut found) = (search.walk(), Vec::new());
                let (mut scratch, mut choices) = (Scratch::default(), Default::default());
                let mut others = Choice::default();
                let (mut candidates, mut without) = (0, 0);
                for i in 0..panels.len() {
                    found.clear();
                    walk.of(i, &mut found);
                    let ordered = |&j: &u32| <[usize; 2]>::from(panels.ordered(i, j as usize));
                    let own: Vec<[usize; 2]> =
                        found.iter().filter(|&&j| j as usize > i).map(ordered).collect();
                    let choice: &mut Choice<f64> = &mut choices;
                    selection.choose(&panels, &bounded, &own, choice, &mut scratch);
                    selection.choose(&panels, &plain, &own, &mut others, &mut scratch);
                    assert!(choice.kept() == others.kept(), "{name} {tolerance} {kind:?} {i}");
                    candidates += own.len();
                    without += choice.by_bounds();
                }
                println!("{name} {tolerance} {kind:?}: {without} of {candidates} by bounds");
            }
        }
    }
}
