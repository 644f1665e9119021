//! Kernels against what processor cores compute. They skip with a printed reason where there is no GPU, unless
//! FARAD_REQUIRE_GPU=1.

use std::sync::Arc;

use gpu::Device;
use mesh::Mesh;
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

use super::{DeviceGeometry, DeviceNear, DevicePreconditioner, DeviceProduct};
use crate::accuracy::Accuracy;
use crate::coarse::Coarse;
use crate::gmres::LinearOperator;
use crate::ladder::Ladder;
use crate::layer::{Correction, Kernel, Layer};
use crate::near::{self, Near, Precision};
use crate::panels::Panels;
use crate::points::Points;
use crate::preconditioner::{LocalInverse, NEIGHBOURS, TwoLevel};
use crate::single_layer::SingleLayerPairs;
use crate::testing::sheets;
use crate::{CapacitanceOptions, Conductors, Method, Quiet, capacitance};

/// The GPU, or `None` after saying why the test is skipped.
fn gpu(test: &str) -> Option<Device> {
    gpu::testing::device_for(test, || Device::open(0)).unwrap()
}

/// Meshes whose vertices are moved a little at random, so that no choice hangs on rounding alone.
fn meshes() -> Vec<Mesh> {
    let resolution = Resolution::Elements(2500);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut meshes = vec![sphere.build().unwrap(), cube(1.0), cube(30.0), sheets(4, 800, 0.005)];
    for mesh in &mut meshes {
        for vertex in &mut mesh.vertices {
            vertex.iter_mut().for_each(|x| *x += 1e-4 * random());
        }
    }
    meshes
}

fn relative(found: &[f64], exact: &[f64]) -> f64 {
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    (difference / exact.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

fn wave(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.0 + (0.37 * i as f64).sin()).collect()
}

#[test]
fn near_field_and_preconditioner_match_the_processors() {
    let Some(device) = gpu("near_field_and_preconditioner_match_the_processors") else { return };
    for (mesh, tolerance) in meshes().iter().flat_map(|mesh| [(mesh, 1e-4), (mesh, 1e-7)]) {
        let panels = Panels::new(mesh, |_| true);
        let Accuracy { rule, selection, pairs, .. } = Accuracy::new(tolerance, 0);
        let integrals = SingleLayerPairs { panels: &panels, quadrature: pairs };
        let n = panels.len();
        let geometry = || DeviceGeometry::new(&device, &panels, selection.diameters).unwrap();
        let (found, expected) = (geometry().closest(rule).unwrap(), near::closest(&panels, rule));
        assert!((found / expected - 1.0).abs() < 1e-10, "closest {found} for {expected}");
        for (precision, rounding) in [(Precision::Single, 1e-6), (Precision::Double, 1e-10)] {
            let mut host =
                Near::new(&panels, &selection, &integrals, precision, |_| Ok(()), &Quiet).unwrap();
            let mut there =
                DeviceNear::new(geometry(), &selection, pairs, precision, |_| Ok(()), &Quiet)
                    .unwrap();
            // The same pairs, but for those whose error is the limit up to rounding.
            let (mut common, mut single) = (0, 0);
            for (i, mut row) in there.rows().into_iter().enumerate() {
                let full = host.full_rows(i / 1024);
                let mut expected = full.row(i).to_vec();
                row.sort_by_key(|&(j, _)| j);
                expected.sort_by_key(|&(j, _)| j);
                for &(j, value) in &row {
                    match expected.iter().find(|&&(k, _)| k as usize == j) {
                        Some(&(_, exact)) => {
                            common += 1;
                            let off = (value / exact - 1.0).abs();
                            assert!(off < rounding, "({i}, {j}): {value} for {exact}");
                        }
                        None => single += 1,
                    }
                }
                let missed = |&&(j, _): &&(u32, f64)| !row.iter().any(|&(k, _)| k == j as usize);
                single += expected.iter().filter(missed).count();
            }
            assert!(common > 5 * n && single * 1000 <= common, "{common} in both, {single} in one");

            let conductor = vec![0; n];
            let v = wave(2 * n);
            let (mut expected, mut found) = (vec![0.0; 2 * n], vec![0.0; 2 * n]);
            let local = LocalInverse::new(&host, &panels, NEIGHBOURS);
            let coarse = Coarse::new(&panels, &conductor, &host);
            TwoLevel::new(local, coarse).apply(&v, &mut expected, 2).unwrap();
            let mut preconditioner =
                DevicePreconditioner::new(&there, &panels, &conductor, NEIGHBOURS).unwrap();
            preconditioner.apply(&v, &mut found, 2).unwrap();
            let off = relative(&found, &expected);
            // Rounding of sums in another order: 1.3e-9 on an H200. Of the few pairs that one of the two may have alone each changes more.
            let bound = if single == 0 { 4e-9 } else { 1e-4 };
            println!("preconditioner off by {off:e}, {single} of {common} pairs in one alone");
            assert!(off < bound, "preconditioner off by {off:e}");

            host.subtract_points(&panels, &integrals, rule);
            there.subtract_points(rule).unwrap();
            let (x, y) = (device.upload(&v).unwrap(), device.upload(&v).unwrap());
            there.multiply_add(&x, &y, 2).unwrap();
            let mut expected = v.clone();
            host.multiply_add(&v, &mut expected);
            let off = relative(&y.to_vec().unwrap(), &expected);
            assert!(off < 10.0 * tolerance, "product off by {off:e} at {tolerance:e}");
        }
    }
}

#[test]
fn products_and_samples_match_the_processors() {
    let Some(_) = gpu("products_and_samples_match_the_processors") else { return };
    let mesh = &meshes()[0];
    let panels = Panels::new(mesh, |_| true);
    let Accuracy { rule, selection, pairs, .. } = Accuracy::new(1e-6, 0);
    let integrals = SingleLayerPairs { panels: &panels, quadrature: pairs };
    let n = panels.len();
    let x = wave(n);
    let products = [fmm::Backend::Cpu, fmm::Backend::Cuda].map(|backend| {
        let points = Points::new(&panels, rule);
        let options = fmm::Options { tolerance: 1e-6, backend, ..fmm::Options::default() };
        let plan = fmm::Plan::new(&points.all(), None, &options).unwrap();
        let (double, free) = (Precision::Double, |_| Ok(()));
        let correction = match plan.device() {
            Some(device) => {
                let geometry = DeviceGeometry::new(&device, &panels, selection.diameters).unwrap();
                let mut near =
                    DeviceNear::new(geometry, &selection, pairs, double, free, &Quiet).unwrap();
                near.subtract_points(rule).unwrap();
                Correction::Device(Box::new(DeviceProduct::new(near, rule).unwrap()))
            }
            None => {
                let mut near =
                    Near::new(&panels, &selection, &integrals, double, free, &Quiet).unwrap();
                near.subtract_points(&panels, &integrals, rule);
                Correction::Host(near)
            }
        };
        let (panels, kernels) = (Arc::new(Panels::new(mesh, |_| true)), vec![Kernel::Single; n]);
        let mut operator = Layer::new(panels, rule, kernels, Ladder::fixed(plan), correction);
        let mut y = vec![0.0; n];
        operator.apply(&x, &mut y, 1).unwrap();
        let error = operator.sampled_error(500).unwrap().unwrap();
        assert!(error.relative > 0.0 && error.relative < 1e-6, "{error:?}");
        y
    });
    let off = relative(&products[1], &products[0]);
    // Two fast sums of that tolerance.
    assert!(off < 2e-6, "{off:e}");
}

#[test]
fn a_capacitance_is_the_same_on_both() {
    let Some(_) = gpu("a_capacitance_is_the_same_on_both") else { return };
    let mesh = &meshes()[1];
    let n = mesh.triangles.len();
    // Two conductors, so that columns share products: halves of the cube.
    let middle = |i: usize| mesh.triangles[i].iter().all(|&v| mesh.vertices[v as usize][2] < 0.0);
    let of_triangle: Vec<_> = (0..n).map(|i| Some(u32::from(middle(i)))).collect();
    let conductors = Conductors { of_triangle: &of_triangle, count: 2 };
    let answers = [fmm::Backend::Cpu, fmm::Backend::Cuda].map(|backend| {
        let options = CapacitanceOptions {
            method: Method::Fmm,
            tolerance: 1e-6,
            backend,
            ..CapacitanceOptions::default()
        };
        capacitance(mesh, conductors, &options, &Quiet).unwrap()
    });
    let [cpu, cuda] = &answers;
    for (a, b) in cpu.maxwell.iter().flatten().zip(cuda.maxwell.iter().flatten()) {
        // Both solved to 1e-6.
        assert!((a - b).abs() < 5e-6 * cpu.maxwell[0][0].abs(), "{a} {b}");
    }
    for (a, b) in cpu.solves.iter().zip(&cuda.solves) {
        assert!(a.iterations.abs_diff(b.iterations) <= 1, "{} {}", a.iterations, b.iterations);
    }
}
