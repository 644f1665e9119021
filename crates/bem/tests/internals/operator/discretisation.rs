//! Functions on a part with images against those on the whole.

use std::sync::Arc;

use bem::internals::geometry::Panels;
use bem::internals::near::RowKind;
use bem::internals::operator::{Discretisation, Layer, NearFieldRequest, Target};
use bem::internals::solve::PlanSchedule;
use bem::internals::space::{Corners, Dofs, TestTrial};
use bem::{FunctionSpace, Images, LinearOperator, Mirror, NoProgress, Test};
use mesh::Mesh;
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::mirror::Plane;

const TOLERANCE: f64 = 1e-7;

/// Rows for the density f(x) in linear functions on a mesh with images, by the position of each
/// coefficient.
fn rows(mesh: &Mesh, images: &Images, kind: RowKind, test: Test) -> Vec<([f64; 3], f64)> {
    let panels = Arc::new(Panels::of_mesh(mesh).with_images(images, None));
    let of_panels: Vec<[u32; 3]> =
        panels.triangles().iter().map(|&t| mesh.triangles[t as usize]).collect();
    let corners = Corners { of_panels: &of_panels, vertices: mesh.vertices.len() };
    let functions = TestTrial::new(test, FunctionSpace::Linear, &panels, corners);
    let density = |[x, y, z]: [f64; 3]| 1.0 + x * y + 0.3 * x + z * z;
    let of = |&v: &u32| density(mesh.vertices[v as usize]);
    let x: Vec<f64> = functions.columns.order().iter().map(of).collect();
    let places: Vec<[f64; 3]> = match test {
        Test::Means(_) => {
            functions.rows.order().iter().map(|&v| mesh.vertices[v as usize]).collect()
        }
        Test::Centroids => {
            (0..panels.len()).map(|i| panels.unscaled(&panels.centroid(i))).collect()
        }
    };
    let kinds = vec![kind; panels.len()];
    let dofs = Dofs::Functions(Arc::new(functions));
    let target = Target { backend: fmm::Backend::Cpu, gpu: 0, group: comm::alone() };
    let mut parts = Discretisation::new(&panels, &kinds, dofs, TOLERANCE, 1, target).unwrap();
    let plan = parts.fast_sum(TOLERANCE, 1).plan(TOLERANCE).unwrap();
    let request =
        NearFieldRequest { requirements: None, check: &|_| Ok(()), progress: &NoProgress };
    let backend = parts.backend(&request, None).unwrap();
    let mut layer = Layer::new(parts.layout.all, PlanSchedule::fixed(plan), backend);
    let mut y = vec![0.0; layer.len()];
    layer.apply(&x, &mut y, 1).unwrap();
    // In the mesh's lengths: panels are scaled by their own box.
    let length = panels.scale().powi(if kind == RowKind::Single { 3 } else { 2 });
    places.into_iter().zip(y.into_iter().map(|y| y * length)).collect()
}

/// A hemisphere and its image are the sphere, whatever the rows are.
#[test]
fn functions_on_a_part_with_images_are_those_on_the_whole() {
    let resolution = Resolution::Elements(512);
    let sphere = Sphere { radius: 1.3, base: SphereBase::Octahedron, resolution };
    let whole = sphere.build().unwrap();
    let mut half = Mesh { vertices: Vec::new(), triangles: Vec::new(), ..whole.clone() };
    let mut number = vec![u32::MAX; whole.vertices.len()];
    for corners in &whole.triangles {
        let places = corners.map(|v| whole.vertices[v as usize]);
        if places.iter().map(|x| x[2]).sum::<f64>() > 0.0 {
            half.triangles.push(corners.map(|v| {
                if number[v as usize] == u32::MAX {
                    number[v as usize] = half.vertices.len() as u32;
                    half.vertices.push(whole.vertices[v as usize]);
                }
                number[v as usize]
            }));
        }
    }
    assert_eq!(2 * half.triangles.len(), whole.triangles.len());
    let plane = Plane { axis: 2, at: 0.0 };
    let images = Images::new(&[Mirror { plane, odd: false }]);
    for (kind, test) in [
        (RowKind::Single, Test::Means(FunctionSpace::Linear)),
        (RowKind::Adjoint, Test::Means(FunctionSpace::Linear)),
        (RowKind::Double, Test::Means(FunctionSpace::Linear)),
        (RowKind::Single, Test::Centroids),
        (RowKind::Adjoint, Test::Centroids),
    ] {
        let of_whole = rows(&whole, &Images::default(), kind, test);
        let of_half = rows(&half, &images, kind, test);
        let size = of_whole.iter().map(|row| row.1.abs()).fold(0.0, f64::max);
        for (place, value) in of_half {
            let near =
                |other: &&([f64; 3], f64)| (0..3).all(|k| (other.0[k] - place[k]).abs() < 1e-9);
            let expected = of_whole.iter().find(near).unwrap().1;
            // Half of the functions in the plane are in the image.
            let in_plane = matches!(test, Test::Means(_)) && place[2].abs() < 1e-9;
            let value = if in_plane { 2.0 * value } else { value };
            // Two sums and two near fields of this tolerance.
            let off = (value - expected).abs() / size;
            assert!(off < 3.0 * TOLERANCE, "{kind:?} {test:?} at {place:?}: {off:.1e}");
        }
    }
}
