//! Kernels against what processor cores compute. They skip with a printed reason where there is no
//! GPU, unless FARAD_REQUIRE_GPU=1.

mod screened;

use std::sync::Arc;

use bem::internals::device::{
    DeviceCompletion, DeviceGeometry, DeviceNear, DeviceProduct, DeviceTwoLevel, OnDevice,
};
use bem::internals::geometry::{Panels, Partition, Vec3};
use bem::internals::near::{
    Accuracy, Assembly, LayerPairs, Near, Precision, Requirements, RowKind, Selection, Sources,
    smallest_relative_gap, smallest_relative_height,
};
use bem::internals::operator::{Layer, OnHost};
use bem::internals::precondition::{
    Coarse, Conductors as ConductorPanels, LocalInverse, NEIGHBOURS, TwoLevel,
};
use bem::internals::quadrature::Rule;
use bem::internals::sampling::{Layout, QuadraturePoints, Sampling};
use bem::internals::solve::completion::complete;
use bem::internals::solve::{Backend, PlanSchedule};
use bem::internals::space::Dofs;
use bem::{
    Beyond, Conductors, Density, Excitation, Images, LinearOperator, Media, Method, Mirror,
    NoProgress, PointCharge, Prepared, SolveOptions, Stack, StackLayer, capacitance,
    electrostatics,
};
use cuda::Device;
use mesh::Mesh;
use mesh::generate::{ConcentricSpheres, Cube, Plate, Resolution, Sphere, SphereBase};
use mesh::mirror::Plane;

use crate::solve::completion::Overlapping;
use crate::testing::sheets;

/// The GPU, or `None` after saying why the test is skipped.
fn gpu(test: &str) -> Option<Device> {
    cuda::testing::device_for(test, || Device::open(0)).unwrap()
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

/// Without limits and reports.
fn assembly<'a>(
    panels: &'a Panels,
    partition: &'a Partition,
    selection: &'a Selection,
    precision: Precision,
) -> Assembly<'a> {
    Assembly { panels, partition, selection, precision, check: &|_| Ok(()), progress: &NoProgress }
}

fn wave(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.0 + (0.37 * i as f64).sin()).collect()
}

#[test]
fn rows_are_completed_as_on_processors() {
    let Some(device) = gpu("rows_are_completed_as_on_processors") else { return };
    let (n, columns) = (5000, 3);
    let of = Overlapping::new(n);
    let x = wave(columns * n);
    let mut y: Vec<f64> = x.iter().map(|x| (3.0 * x).cos()).collect();
    let on_device = DeviceCompletion::new(&device, &of, n).unwrap();
    let [there, result] = [&x, &y].map(|v| device.upload(v).unwrap());
    let found = on_device.apply(&of, &there, &result, columns).unwrap();
    let mut expected = 0.0f64;
    for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
        expected = expected.max(complete(&of, x, y, true).unwrap());
    }
    assert!((found - expected).abs() < 1e-10 * expected, "{found} for {expected}");
    let error = relative(&result.to_vec().unwrap(), &y);
    assert!(error < 1e-12, "{error}");
}

/// The smallest gap and height between panels on the device and on processors.
fn compare_distances(there: &DeviceGeometry, panels: &Panels, rule: &'static Rule) {
    let found = there.smallest_relative_gap_and_height(rule).unwrap();
    let expected = [smallest_relative_gap(panels, rule), smallest_relative_height(panels, rule)];
    let off = |k: usize| (found[k] / expected[k] - 1.0).abs();
    assert!(off(0).max(off(1)) < 1e-10, "gap and height {found:?} for {expected:?}");
}

#[test]
fn near_field_and_preconditioner_match_the_processors() {
    let Some(device) = gpu("near_field_and_preconditioner_match_the_processors") else { return };
    for (mesh, tolerance) in meshes().iter().flat_map(|mesh| [(mesh, 1e-4), (mesh, 1e-7)]) {
        let panels = Panels::of_mesh(mesh);
        let Accuracy { rule, selection, pairs, .. } = Accuracy::new(tolerance, 0);
        let integrals = LayerPairs::new(&panels, &[RowKind::Single], pairs);
        let n = panels.len();
        let kinds = vec![RowKind::Single; n];
        let geometry =
            || DeviceGeometry::new(&device, &panels, &kinds, selection.diameters).unwrap();
        compare_distances(&geometry(), &panels, rule);
        for (precision, rounding) in [(Precision::Single, 1e-6), (Precision::Double, 1e-10)] {
            let whole = Partition::whole(panels.len());
            let assembly = assembly(&panels, &whole, &selection, precision);
            let mut host = Near::new(&assembly, &integrals).unwrap();
            let mut there = DeviceNear::new(geometry(), pairs, &assembly).unwrap();
            // The same pairs, but for those whose error is the limit up to rounding.
            let (mut common, mut single) = (0, 0);
            for (i, mut row) in there.rows().unwrap().into_iter().enumerate() {
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
            let conductors = ConductorPanels::whole(&panels, conductor);
            let coarse = Coarse::new(&conductors, &host).unwrap();
            TwoLevel::new(local, coarse).apply(&v, &mut expected, 2).unwrap();
            let mut preconditioner = DeviceTwoLevel::new(&there, &conductors, NEIGHBOURS).unwrap();
            let (potentials, charges) = (device.upload(&v).unwrap(), device.upload(&v).unwrap());
            preconditioner.apply_on_device(&potentials, &charges, 2).unwrap();
            charges.read(0, &mut found).unwrap();
            let off = relative(&found, &expected);
            // Rounding of sums in another order: 1.3e-9 on an H200. Of the few pairs that one of
            // the two may have alone each changes more.
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

fn sampling(panels: &Arc<Panels>, rule: &'static Rule, kinds: &[RowKind]) -> Sampling {
    let panels = Arc::clone(panels);
    Sampling {
        panels,
        rules: [rule; 2],
        kinds: kinds.into(),
        dofs: Dofs::Charges(Density::Constant),
    }
}

#[test]
fn products_and_samples_match_the_processors() {
    let Some(_) = gpu("products_and_samples_match_the_processors") else { return };
    let mesh = &meshes()[0];
    let panels = Arc::new(Panels::of_mesh(mesh));
    let Accuracy { rule, selection, pairs, .. } = Accuracy::new(1e-6, 0);
    let integrals = LayerPairs::new(&panels, &[RowKind::Single], pairs);
    let n = panels.len();
    let x = wave(n);
    let products = [fmm::Backend::Cpu, fmm::Backend::Cuda].map(|backend| {
        let points = QuadraturePoints::new(&panels, rule);
        let options = fmm::Options::default().tolerance(1e-6).backend(backend);
        let plan = fmm::Plan::new(&points.all(), None, &options).unwrap();
        let double = Precision::Double;
        let kinds = vec![RowKind::Single; n];
        let sampling = sampling(&panels, rule, &kinds);
        let whole = Partition::whole(panels.len());
        let assembly = assembly(&panels, &whole, &selection, double);
        let backend: Box<dyn Backend> = match plan.device() {
            Some(device) => {
                let geometry =
                    DeviceGeometry::new(&device, &panels, &kinds, selection.diameters).unwrap();
                let mut near = DeviceNear::new(geometry, pairs, &assembly).unwrap();
                near.subtract_points(rule).unwrap();
                Box::new(OnDevice::new(DeviceProduct::new(near, rule).unwrap(), None))
            }
            None => {
                let mut near = Near::new(&assembly, &integrals).unwrap();
                near.subtract_points(&panels, &integrals, rule);
                Box::new(OnHost::new(Layout::whole(sampling.clone()), near, None))
            }
        };
        let mut operator = Layer::new(sampling, PlanSchedule::fixed(plan), backend);
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
        let options = SolveOptions::default().method(Method::Fmm).tolerance(1e-6).backend(backend);
        capacitance(mesh, conductors, &options, &NoProgress).unwrap()
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

/// A surface's conductors, media and excitations, for two estimates of one solve.
struct Estimated<'a> {
    mesh: &'a Mesh,
    media: Media<'a>,
    excitations: Vec<Excitation>,
}

impl Estimated<'_> {
    /// Largest difference of shares on a GPU from those on processors, relative to the largest
    /// share, and that of the charge which is missing from the last excitation.
    fn differences(&self) -> [f64; 2] {
        let Self { mesh, media, excitations } = self;
        let weights = vec![1.0; mesh.triangles.len()];
        let options = SolveOptions::default().method(Method::Fmm).tolerance(1e-6);
        let prepared = |backend| {
            let options = options.clone().backend(backend);
            Prepared::new(mesh, *media, excitations.len(), &options).unwrap()
        };
        let answer = prepared(fmm::Backend::Cpu).solve(excitations, &NoProgress).unwrap();
        let found = [fmm::Backend::Cpu, fmm::Backend::Cuda].map(|backend| {
            let prepared = prepared(backend);
            let estimate =
                prepared.system().error_estimate(excitations, &answer, &weights, true).unwrap();
            let all = [
                estimate.of_conductors,
                estimate.of_conductors_at_most,
                estimate.of_interfaces,
                estimate.of_interfaces_at_most,
            ];
            let last = (excitations.last().unwrap(), answer.responses.last().unwrap());
            let missing = prepared.missing(last.0, last.1, &weights).unwrap();
            [all.concat().concat(), missing.total]
        });
        let [cpu, cuda] = &found;
        std::array::from_fn(|k| {
            let largest = cpu[k].iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
            assert!(largest > 0.0);
            let off = cpu[k].iter().zip(&cuda[k]).map(|(a, b)| (a - b).abs());
            off.fold(0.0, f64::max) / largest
        })
    }
}

#[test]
fn error_estimates_are_the_same_on_both() {
    let Some(_) = gpu("error_estimates_are_the_same_on_both") else { return };
    let bounds = [1e-3, 1e-2];
    let check = |of: &str, found: [f64; 2]| {
        println!("{of}: shares off by {:.1e}, missing charges by {:.1e}", found[0], found[1]);
        for (found, bound) in found.into_iter().zip(bounds) {
            assert!(found < bound, "{of}: {found:.1e}");
        }
    };
    // More excitations than are summed together.
    let mesh = &meshes()[2];
    let n = mesh.triangles.len();
    let is_below = |t: usize| mesh.triangles[t].iter().all(|&v| mesh.vertices[v as usize][2] < 0.0);
    let part = |t: usize| Some(u32::from(is_below(t)));
    let conductor: Vec<_> = (0..n).map(part).collect();
    let media = Media {
        conductor: &conductor,
        conductors: 2,
        permittivity: &vec![[1.0; 2]; n],
        images: &Images::default(),
        bodies: &[],
    };
    let of_volts = |k: u32| Excitation::default().potentials(vec![f64::from(k % 3), 1.0]);
    let excitations: Vec<_> = (0..18).map(of_volts).collect();
    check("cube", Estimated { mesh, media, excitations }.differences());

    let coated = Coated::new();
    let media = Media {
        conductor: &coated.conductor,
        conductors: 1,
        permittivity: &coated.permittivity,
        images: &coated.images,
        bodies: &[],
    };
    let charge = Excitation::default().potentials(vec![0.5]).charges(vec![coated.charge]);
    let unit = Excitation::default().potentials(vec![1.0]);
    let excitations = vec![unit, charge];
    check("coated", Estimated { mesh: &coated.mesh, media, excitations }.differences());
}

/// A core in a coat that a charge is next to, all mirrored in a grounded plane and one of symmetry.
struct Coated {
    mesh: Mesh,
    conductor: Vec<Option<u32>>,
    permittivity: Vec<[f64; 2]>,
    images: Images,
    charge: PointCharge,
}

impl Coated {
    fn new() -> Self {
        let (resolution, base) = (Resolution::Elements(2500), SphereBase::Octahedron);
        let spheres = ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.4, base, resolution };
        let mesh = spheres.build().unwrap();
        let is_core = |t: usize| mesh.groups_of(t) == [0];
        let sides = |t| if is_core(t) { (Some(0), [4.0; 2]) } else { (None, [1.0, 4.0]) };
        let (conductor, permittivity) = (0..mesh.triangles.len()).map(sides).unzip();
        // Closer to the one plane than a triangle is long.
        let mirror = |axis, at, odd| Mirror { plane: Plane { axis, at }, odd };
        let images = Images::new(&[mirror(2, -1.43, true), mirror(0, -1.9, false)]);
        let charge = PointCharge { position: [0.2, 1.5, 0.3], charge: 1.3, permittivity: 1.0 };
        Self { mesh, conductor, permittivity, images, charge }
    }

    fn panels(&self, images: &Images) -> Panels {
        let panels = Panels::of_mesh(&self.mesh).with_images(images, None);
        let part = |&t: &u32| u32::from(self.conductor[t as usize].is_none());
        let parts = panels.triangles().iter().map(part).collect();
        panels.with_parts(parts)
    }

    fn kinds(&self, panels: &Panels) -> Vec<RowKind> {
        let kind = |&t: &u32| match self.conductor[t as usize] {
            Some(_) => RowKind::Single,
            None => RowKind::Adjoint,
        };
        panels.triangles().iter().map(kind).collect()
    }

    /// What the right-hand side of its charge asks of the integrals.
    fn requirements(&self, panels: &Panels) -> Requirements {
        let at = panels.scaled(self.charge.position);
        let sources = Sources { charges: vec![(at, 1.0)], field: Vec3::zeros(), size: 2.0 };
        let parts: Vec<u32> = panels.parts().0.to_vec();
        let area = |part: u32| -> f64 {
            parts.iter().zip(panels.areas()).filter(|&(&p, _)| p == part).map(|(_, a)| a).sum()
        };
        let of_parts = [area(0), area(1)];
        let share = |(&p, a): (&u32, &f64)| a / of_parts[p as usize];
        let shares: Vec<f64> = parts.iter().zip(panels.areas()).map(share).collect();
        Requirements::new(panels, &[sources], &parts, &shares)
    }
}

/// Entries of the near field that a GPU and the processors integrate.
fn compare_rows(
    there: &DeviceNear,
    host: &Near,
    panels: &Panels,
    kinds: &[RowKind],
    solid_angles: f64,
) {
    let (mut common, mut single, mut worst) = (0, 0, [0.0f64; 2]);
    for (i, mut row) in there.rows().unwrap().into_iter().enumerate() {
        let full = host.full_rows(i / 1024);
        let mut expected = full.row(i).to_vec();
        row.sort_by_key(|&(j, _)| j);
        expected.sort_by_key(|&(j, _)| j);
        let is_potential = kinds[i] == RowKind::Single;
        for &(j, value) in &row {
            let Some(&(_, exact)) = expected.iter().find(|&&(k, _)| k as usize == j) else {
                single += 1;
                continue;
            };
            common += 1;
            // Potentials are the same integrals; solid angles are integrated in other ways, each to
            // its accuracy.
            let smaller = panels.areas()[i].min(panels.areas()[j]);
            let both = panels.areas()[i] * panels.areas()[j];
            let images = (panels.total() / panels.len()) as f64;
            let angle = 2.0 * std::f64::consts::PI * smaller / both * images;
            let unit = if is_potential { exact.abs() } else { angle };
            let off = (value - exact).abs() / unit;
            worst[usize::from(is_potential)] = worst[usize::from(is_potential)].max(off);
        }
        let missed = |&&(j, _): &&(u32, f64)| !row.iter().any(|&(k, _)| k == j as usize);
        single += expected.iter().filter(missed).count();
    }
    println!("{common} in both, {single} in one; solid angles and potentials {worst:?}");
    assert!(
        common > 5 * kinds.len() && single * 1000 <= common,
        "{common} in both, {single} in one"
    );
    assert!(worst[1] < 1e-10, "potentials off by {:.1e}", worst[1]);
    assert!(worst[0] < 2.0 * solid_angles, "solid angles off by {:.1e}", worst[0]);
}

#[test]
fn rows_of_all_kinds_with_images_match_the_processors() {
    let Some(device) = gpu("rows_of_all_kinds_with_images_match_the_processors") else { return };
    let coated = Coated::new();
    for (images, tolerance) in [(&Images::default(), 1e-6), (&coated.images, 1e-5)] {
        let panels = Arc::new(coated.panels(images));
        let (n, kinds) = (panels.len(), coated.kinds(&panels));
        let accuracy = Accuracy::new(tolerance, 0);
        let (rule, selection) = (accuracy.rule, &accuracy.selection);
        let requirements = coated.requirements(&panels);
        let integrals = LayerPairs::new(&panels, &kinds, accuracy.pairs)
            .with_solid_angles(accuracy.solid_angles)
            .with_requirements(Some(&requirements));
        let geometry = || {
            let diameters = selection.diameters;
            let mut geometry = DeviceGeometry::new(&device, &panels, &kinds, diameters).unwrap();
            geometry.set_requirements(Some(&requirements), accuracy.solid_angles).unwrap();
            geometry
        };
        compare_distances(&geometry(), &panels, rule);
        let double = Precision::Double;
        let whole = Partition::whole(n);
        let assembly = assembly(&panels, &whole, selection, double);
        let mut host = Near::new(&assembly, &integrals).unwrap();
        let mut there = DeviceNear::new(geometry(), accuracy.pairs, &assembly).unwrap();
        compare_rows(&there, &host, &panels, &kinds, accuracy.solid_angles);

        host.subtract_points(&panels, &integrals, rule);
        there.subtract_points(rule).unwrap();
        let v = wave(2 * n);
        let (x, y) = (device.upload(&v).unwrap(), device.upload(&v).unwrap());
        there.multiply_add(&x, &y, 2).unwrap();
        let mut expected = v.clone();
        host.multiply_add(&v, &mut expected);
        let off = relative(&y.to_vec().unwrap(), &expected);
        assert!(off < 10.0 * tolerance, "product off by {off:e} at {tolerance:e}");

        // Products with the fast sum, and its errors.
        let layers = [fmm::Backend::Cpu, fmm::Backend::Cuda].map(|backend| {
            let points = QuadraturePoints::new(&panels, rule);
            let options = fmm::Options::default()
                .backend(backend)
                .tolerance(tolerance)
                .densities(2)
                .gradient(true);
            let (all, own) = (points.of_all_images(), points.all());
            let targets = (all.len() > own.len()).then_some(&own[..]);
            let plan = fmm::Plan::new(&all, targets, &options).unwrap();
            let mut near = DeviceNear::new(geometry(), accuracy.pairs, &assembly).unwrap();
            near.subtract_points(rule).unwrap();
            let sampling = sampling(&panels, rule, &kinds);
            let backend: Box<dyn Backend> = match plan.device() {
                Some(_) => Box::new(OnDevice::new(DeviceProduct::new(near, rule).unwrap(), None)),
                None => {
                    let mut near = Near::new(&assembly, &integrals).unwrap();
                    near.subtract_points(&panels, &integrals, rule);
                    Box::new(OnHost::new(Layout::whole(sampling.clone()), near, None))
                }
            };
            let mut layer = Layer::new(sampling, PlanSchedule::fixed(plan), backend);
            let mut y = vec![0.0; 2 * n];
            layer.apply(&v, &mut y, 2).unwrap();
            let error = layer.sampled_error(500).unwrap().unwrap();
            assert!(error.relative > 0.0 && error.relative < tolerance, "{error:?}");
            let chosen: Vec<usize> = (0..n).step_by(37).collect();
            let errors = layer.row_errors(&chosen).unwrap();
            let of = |kernel| {
                let own = chosen.iter().zip(&errors).filter(|(i, _)| kinds[**i] == kernel);
                own.map(|(_, e)| e.abs()).fold(0.0, f64::max)
            };
            (y, [of(RowKind::Single), of(RowKind::Adjoint)])
        });
        let [(cpu, cpu_errors), (cuda, cuda_errors)] = layers;
        assert!(relative(&cuda, &cpu) < 2.0 * tolerance, "{:e}", relative(&cuda, &cpu));
        for (a, b) in cpu_errors.into_iter().zip(cuda_errors) {
            // Two fast sums of one tolerance.
            assert!(a > 0.0 && b > 0.0 && a < 30.0 * b && b < 30.0 * a, "{a:e} {b:e}");
        }
    }
}

#[test]
fn problems_with_media_planes_and_charges_are_the_same_on_both() {
    let Some(_) = gpu("problems_with_media_planes_and_charges_are_the_same_on_both") else {
        return;
    };
    let coated = Coated::new();
    let unit = Excitation::default().potentials(vec![1.0]);
    let charged = Excitation::default().potentials(vec![0.0]).charges(vec![coated.charge]);
    let molecule: Vec<Option<u32>> = vec![None; coated.mesh.triangles.len()];
    let none = Images::default();
    let inside = PointCharge { position: [0.1, 1.2, 0.0], charge: 1.0, permittivity: 4.0 };
    let solvated = Excitation::default().charges(vec![inside]);
    let field = Excitation::default().potentials(vec![0.0]).field([0.0, 1.0, 0.5]);
    let cases = [
        ("coated", &coated.conductor, &none, vec![unit.clone()]),
        ("field", &coated.conductor, &none, vec![unit.clone(), field]),
        ("planes", &coated.conductor, &coated.images, vec![unit.clone()]),
        ("charge and planes", &coated.conductor, &coated.images, vec![unit, charged]),
        ("molecule", &molecule, &none, vec![solvated]),
    ];
    for (name, conductor, images, excitations) in cases {
        let conductors = usize::from(conductor.contains(&Some(0)));
        // Without the core the inner sphere is a hole in the coat.
        let sides = |(t, sides): (usize, &[f64; 2])| {
            if conductors == 0 && coated.mesh.groups_of(t) == [0] { [4.0, 1.0] } else { *sides }
        };
        let permittivity: Vec<[f64; 2]> =
            coated.permittivity.iter().enumerate().map(sides).collect();
        let media =
            Media { conductor, conductors, permittivity: &permittivity, images, bodies: &[] };
        let answers = [fmm::Backend::Cpu, fmm::Backend::Cuda].map(|backend| {
            let options =
                SolveOptions::default().method(Method::Fmm).tolerance(1e-6).backend(backend);
            electrostatics(&coated.mesh, media, &excitations, &options, &NoProgress).unwrap()
        });
        let [cpu, cuda] = &answers;
        for (a, b) in cpu.responses.iter().zip(&cuda.responses) {
            let off = relative(&b.charge, &a.charge);
            println!("{name}: {off:.1e}, {} and {} iterations", a.iterations, b.iterations);
            // Both solved to 1e-6; charges of single triangles where a charge is close are good to
            // some times that.
            assert!(off < 5e-6, "{name}: charges off by {off:.1e}");
            assert!(a.iterations.abs_diff(b.iterations) <= 1, "{name}");
            // All of one sign, or those of a field, which cancel.
            let size: f64 = a.charge.iter().map(|q| q.abs()).sum();
            for (a, b) in a.conductor_charge.iter().zip(&b.conductor_charge) {
                assert!((a - b).abs() < 2e-6 * size, "{name}: {a} {b}");
            }
        }
    }
}

/// Films in an interface of layers, which lie on their own images, and a cube that stands there;
/// the layers' other images are far away, and near.
#[test]
fn films_and_bodies_in_layers_are_the_same_on_both() {
    let Some(_) = gpu("films_and_bodies_in_layers_are_the_same_on_both") else { return };
    let resolution = Resolution::Elements(800);
    let plate = Plate { width: 1.0, height: 1.0, grade: 3.0, resolution }.build().unwrap();
    let cube = Cube { edge: 0.5, grade: 2.0, resolution }.build().unwrap();
    let low = cube.vertices.iter().map(|x| x[2]).fold(f64::INFINITY, f64::min);
    let along = mesh::transform::Motion::along;
    let cube = mesh::transform::moved(&cube, |_| true, &along([1.4, 0.0, -low]));
    let first = plate.triangles.len();
    let mesh = mesh::join::joined(vec![("film".into(), plate), ("cube".into(), cube)]);
    let conductor: Vec<Option<u32>> =
        (0..mesh.triangles.len()).map(|t| Some(u32::from(t >= first))).collect();
    let permittivity = vec![[1.0; 2]; mesh.triangles.len()];
    let unit = |k: usize| {
        let potentials = (0..2).map(|i| f64::from(u8::from(i == k))).collect();
        Excitation::default().potentials(potentials)
    };
    for thickness in [0.1, 3.0] {
        let stack = Stack::default()
            .at(-thickness)
            .below(Beyond::Ground)
            .layers(vec![StackLayer { thickness, permittivity: 4.0 }])
            .above(Beyond::Dielectric(1.0))
            .tolerance(1e-7);
        let layers = stack.images(2, 2.5).unwrap();
        let images = Images::default().with_layers(layers, &mesh);
        let media = Media {
            conductor: &conductor,
            conductors: 2,
            permittivity: &permittivity,
            images: &images,
            bodies: &[],
        };
        let answers = [fmm::Backend::Cpu, fmm::Backend::Cuda].map(|backend| {
            let options =
                SolveOptions::default().method(Method::Fmm).tolerance(1e-6).backend(backend);
            electrostatics(&mesh, media, &[unit(0), unit(1)], &options, &NoProgress).unwrap()
        });
        let [cpu, cuda] = &answers;
        for (a, b) in cpu.responses.iter().zip(&cuda.responses) {
            let off = relative(&b.charge, &a.charge);
            println!("{thickness}: {off:.1e}, {} and {} iterations", a.iterations, b.iterations);
            assert!(off < 5e-6, "{thickness}: charges off by {off:.1e}");
            assert!(a.iterations.abs_diff(b.iterations) <= 1, "{thickness}");
        }
    }
}
