//! Layer operators between constants (P0), linear functions (P1) and collocation on the meshes of
//! random cases: the same at a tighter tolerance, turned, scaled, shifted and renumbered, and K'
//! the transpose of K.

use bem::{FunctionSpace, LinearOperator, Operator, OperatorOptions, Surface, Test};
use mesh::Mesh;

use super::judge::BOUND;
use super::random::Random;
use super::scene::Scene;
use super::vector::{Point, add, scaled, times};

/// How exactly the reference is computed.
const TIGHT: f64 = 1e-8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Layer {
    Single,
    Double,
    Adjoint,
}

const SPACES: [(Test, FunctionSpace); 5] = [
    (Test::Means(FunctionSpace::Constant), FunctionSpace::Constant),
    (Test::Centroids, FunctionSpace::Constant),
    (Test::Means(FunctionSpace::Constant), FunctionSpace::Linear),
    (Test::Means(FunctionSpace::Linear), FunctionSpace::Constant),
    (Test::Means(FunctionSpace::Linear), FunctionSpace::Linear),
];

/// A mesh, and how its triangles and vertices lie in the first one's order.
struct Said {
    name: &'static str,
    mesh: Mesh,
    /// Index here of each triangle and vertex there.
    triangle: Vec<usize>,
    vertex: Vec<usize>,
    /// Lengths here over those there.
    factor: f64,
}

fn mesh(vertices: Vec<Point>, triangles: Vec<[u32; 3]>) -> Mesh {
    let count = triangles.len();
    Mesh {
        vertices,
        triangles,
        membership: vec![0; count],
        memberships: vec![vec![]],
        ..Mesh::default()
    }
}

fn ways(scene: &Scene, random: &mut Random) -> Vec<Said> {
    let (v, t) = (scene.vertices.len(), scene.triangles.len());
    let moved = |name, factor: f64, place: &dyn Fn(Point) -> Point| Said {
        name,
        mesh: mesh(scene.vertices.iter().map(|&x| place(x)).collect(), scene.triangles.clone()),
        triangle: (0..t).collect(),
        vertex: (0..v).collect(),
        factor,
    };
    let rotation = random.rotation();
    let far = random.log_between(1.0, 1e4) * scene.size();
    let by = random.direction().map(|x| far * x);
    let factor = random.of_these(&[1e-9, 1e9]);
    let (vertex, triangle) = (random.permutation(v), random.permutation(t));
    let mut renumbered = (vec![[0.0; 3]; v], vec![[0; 3]; t]);
    for (old, &new) in vertex.iter().enumerate() {
        renumbered.0[new] = scene.vertices[old];
    }
    for (old, &new) in triangle.iter().enumerate() {
        renumbered.1[new] = scene.triangles[old].map(|v| vertex[v as usize] as u32);
        renumbered.1[new].rotate_left(random.below(3));
    }
    vec![
        moved("as it is", 1.0, &|x| x),
        moved("turned", 1.0, &|x| times(rotation, x)),
        moved("scaled", factor, &|x| scaled(x, factor)),
        moved("shifted", 1.0, &|x| add(x, by)),
        Said {
            name: "renumbered",
            mesh: mesh(renumbered.0, renumbered.1),
            triangle,
            vertex,
            factor: 1.0,
        },
    ]
}

impl Said {
    fn order(&self, space: FunctionSpace) -> &[usize] {
        if space == FunctionSpace::Constant { &self.triangle } else { &self.vertex }
    }

    /// The operator's product with coefficients of the first mesh, in its order.
    fn apply(
        &self,
        layer: Layer,
        (test, trial): (Test, FunctionSpace),
        tolerance: f64,
        x: &[f64],
    ) -> Vec<f64> {
        let surface = Surface::new(&self.mesh);
        let options = OperatorOptions::default().tolerance(tolerance);
        let operator = match layer {
            Layer::Single => surface.single_layer_between(test, trial, &options),
            Layer::Double => surface.double_layer_between(test, trial, &options),
            Layer::Adjoint => surface.adjoint_double_layer_between(test, trial, &options),
        };
        let mut operator: Operator = operator.unwrap();
        let rows = if let Test::Means(space) = test { space } else { FunctionSpace::Constant };
        let mut here = vec![0.0; x.len()];
        self.order(trial).iter().zip(x).for_each(|(&new, &value)| here[new] = value);
        let mut product = vec![0.0; surface.dimension(rows)];
        operator.apply(&here, &mut product, 1).unwrap();
        // A potential of a density goes with lengths; K and K' do not.
        let unit = if layer == Layer::Single { self.factor } else { 1.0 };
        self.order(rows).iter().map(|&new| product[new] / unit).collect()
    }
}

/// The largest ratio of deviation to bound, and where it is, for some of the spaces.
pub fn worst(scene: &Scene, tolerance: f64, spaces: usize, random: &mut Random) -> (f64, String) {
    let ways = ways(scene, random);
    let surface = Surface::new(&ways[0].mesh);
    let weights = |test: Test| match test {
        Test::Means(space) => surface.weights(space),
        Test::Centroids => surface.weights(FunctionSpace::Constant),
    };
    let length = |weights: &[f64], x: &[f64]| -> f64 {
        weights.iter().zip(x).map(|(w, x)| w * x * x).sum::<f64>().sqrt()
    };
    let mut found = (0.0f64, String::new());
    let mut note = |ratio: f64, what: String| {
        if ratio > found.0 || !ratio.is_finite() {
            found = (ratio, what);
        }
    };
    let order = random.permutation(SPACES.len());
    for (test, trial) in order.into_iter().take(spaces).map(|index| SPACES[index]) {
        for layer in [Layer::Single, Layer::Double, Layer::Adjoint] {
            let x: Vec<f64> =
                (0..surface.dimension(trial)).map(|_| random.between(-1.0, 1.0)).collect();
            let weights_out = weights(test);
            let reference = ways[0].apply(layer, (test, trial), TIGHT, &x);
            let mut scale = length(&weights_out, &reference);
            if layer != Layer::Single {
                scale = scale.max(0.5 * length(&surface.weights(trial), &x));
            }
            for said in &ways {
                let product = said.apply(layer, (test, trial), tolerance, &x);
                let off: Vec<f64> = product.iter().zip(&reference).map(|(a, b)| a - b).collect();
                let ratio = length(&weights_out, &off) / (BOUND * tolerance * scale);
                note(ratio, format!("{layer:?} {test:?} x {trial:?}, {}", said.name));
            }
            // <K x, y> = <x, K' y>, weighted by the integrals of the test functions.
            if let (Layer::Double, Test::Means(space)) = (layer, test) {
                let y: Vec<f64> =
                    (0..surface.dimension(space)).map(|_| random.between(-1.0, 1.0)).collect();
                let dual = ways[0].apply(Layer::Adjoint, (Test::Means(trial), space), TIGHT, &y);
                let product = |a: &[f64], w: &[f64], b: &[f64]| -> f64 {
                    a.iter().zip(w).zip(b).map(|((a, w), b)| a * w * b).sum()
                };
                let left = product(&reference, &weights_out, &y);
                let right = product(&dual, &surface.weights(trial), &x);
                let size = scale * length(&weights_out, &y);
                note(
                    (left - right).abs() / (BOUND * tolerance * size),
                    format!("K' of {test:?} x {trial:?}"),
                );
            }
        }
    }
    found
}
