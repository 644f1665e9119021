//! Shares of the energy in thin films against closed forms.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::f64::consts::PI;

use farad::bem::{Beyond, Density, Stack, StackLayer};
use farad::mesh::generate::{ConcentricSpheres, Cube, Disk, Plate, Resolution, Sphere, SphereBase};
use farad::mesh::transform::{Motion, moved};
use farad::mesh::{Mesh, join};
use farad::{
    Conductor, Description, Dielectric, Error, Fault, Film, FilmFault, FilmShare, Goal, LengthUnit,
    Mirror, NoProgress, Options, Outcome, Place, Plane, Probe, ProbePoints, Problem, SURROUNDINGS,
    Setting, Target, Toward, refine,
};

const THICKNESS: f64 = 1e-3;
const PERMITTIVITY: f64 = 4.0;

fn film(on: &str, toward: Option<Toward>, cutoff: Option<f64>) -> Film {
    let place = Place::On { names: vec![on.to_owned()], toward };
    let (thickness, relative_permittivity) = (THICKNESS, PERMITTIVITY);
    Film::default()
        .name("film".to_owned())
        .place(place)
        .thickness(thickness)
        .relative_permittivity(relative_permittivity)
        .cutoff(cutoff)
}

fn shares(description: &Description, mesh: &Mesh, density: Density) -> Vec<FilmShare> {
    let problem = Problem::new(description.clone(), mesh.clone()).unwrap();
    let options = Options::default().density(density);
    let solution = problem.solve(&options, &NoProgress).unwrap();
    assert!(solution.converged() && !solution.failed_checks(), "{:?}", solution.warnings);
    solution.films
}

#[track_caller]
fn near(found: f64, exact: f64, share: f64) {
    assert!((found / exact - 1.0).abs() < share, "{found:e}, not {exact:e}");
}

fn sphere(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Sphere { radius: 2.0, base: SphereBase::Icosahedron, resolution }.build().unwrap()
}

fn disk(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Disk { radius: 1.0, grade: 2.0, resolution }.build().unwrap()
}

/// Of a disk of radius 1 in a medium of permittivity 1, one side of it: E is 2/pi over
/// sqrt(1 - r^2), the capacitance over 4 pi eps0 is 2/pi.
fn of_disk(cutoff: f64) -> f64 {
    let edge: f64 = 1.0 - cutoff;
    let square = PI * (2.0 / PI).powi(2) * (1.0 / (1.0 - edge * edge)).ln();
    THICKNESS / PERMITTIVITY * square / (4.0 * PI * (2.0 / PI))
}

/// In the medium of a sphere E is V/R at its surface, and C is 4 pi eps R.
#[test]
fn a_sphere_has_the_share_of_a_shell() {
    for (density, eps) in [(Density::Constant, 1.0), (Density::Linear, 3.0)] {
        let description = Description::default()
            .unit(LengthUnit::Micrometre)
            .relative_permittivity(eps)
            .films(vec![film("sphere", None, None)]);
        let [found] = &shares(&description, &sphere(1280), density)[..] else { panic!() };
        near(found.participation[0], THICKNESS / 2.0 * eps / PERMITTIVITY, 5e-3);
        assert_eq!((found.thickness, found.relative_permittivity), (1e-9, PERMITTIVITY));
        assert!(found.bars[0] < 0.01 * found.participation[0]);
    }
}

/// Part of the sphere over planes of symmetry is all of it.
#[test]
fn images_in_planes_of_symmetry_count() {
    let resolution = Resolution::Elements(1200);
    let whole = Cube { edge: 1.0, grade: 2.0, resolution }.build().unwrap();
    let films = vec![film("cube", None, None)];
    let description = Description::default().films(films);
    let all = shares(&description, &whole, Density::Constant);
    let mut half = whole;
    let keep: Vec<usize> = (0..half.triangles.len())
        .filter(|&t| half.corners(t).iter().all(|x| x[2] > -1e-9))
        .collect();
    half.triangles = keep.iter().map(|&t| half.triangles[t]).collect();
    half.membership = keep.iter().map(|&t| half.membership[t]).collect();
    let planes = vec![Mirror { plane: Plane { axis: 2, at: 0.0 }, odd: false }];
    let part = shares(&description.planes(planes), &half, Density::Constant);
    near(part[0].participation[0], all[0].participation[0], 0.02);
}

/// Both sides of a disk, the energy in whose film grows with the logarithm of the cutoff.
#[test]
fn disks_are_integrated_up_to_their_rim() {
    for (density, share) in [(Density::Constant, 0.03), (Density::Linear, 0.015)] {
        let cutoffs = [1e-2, 1e-4];
        let films = cutoffs.map(|cutoff| film("disk", None, Some(cutoff))).to_vec();
        let description = Description::default().films(films);
        let found = shares(&description, &disk(2000), density);
        for (found, cutoff) in found.iter().zip(cutoffs) {
            near(found.participation[0], 2.0 * of_disk(cutoff), share);
            let off = (found.participation[0] - 2.0 * of_disk(cutoff)).abs();
            assert!(off < found.bars[0] && found.bars[0] < 0.09 * found.participation[0]);
        }
    }
}

/// Metal on silicon: E is that of the disk alone, D in silicon is as many times as large as its
/// permittivity, and so the energy in the film the square of that.
#[test]
fn metal_on_a_substrate_has_a_film_above_and_one_below() {
    let (eps, cutoff) = (11.7, 1e-3);
    let (below, above) = (Beyond::Dielectric(eps), Beyond::Dielectric(1.0));
    let stack = Stack::default().below(below).above(above).tolerance(1e-6);
    let toward = |layer| film("disk", Some(Toward::Layer(layer)), Some(cutoff));
    let films = vec![toward(0), toward(1), film("disk", None, Some(cutoff))];
    let description = Description::default().stack(Some(stack)).films(films);
    let found = shares(&description, &disk(2000), Density::Linear);
    let [ms, ma, both] = [0, 1, 2].map(|k: usize| found[k].participation[0]);
    // The capacitance is that of the mean of both permittivities.
    let mean = 0.5 * (1.0 + eps);
    near(ma, of_disk(cutoff) / mean, 0.015);
    near(ms, eps * eps * ma, 1e-6);
    near(both, ms + ma, 1e-9);
}

/// A cube that stands in an interface which is none: its foot, one of six faces, faces the layer
/// below.
#[test]
fn solid_metal_has_its_foot_in_the_layer_below() {
    let resolution = Resolution::Elements(1200);
    let mesh = Cube { edge: 1.0, grade: 2.0, resolution }.build().unwrap();
    let eps = Beyond::Dielectric(2.0);
    let stack = Stack::default().at(-0.5).below(eps).above(eps).tolerance(1e-6);
    let films = [Some(0), Some(1), None].map(|layer| film("cube", layer.map(Toward::Layer), None));
    let description = Description::default().stack(Some(stack)).films(films.to_vec());
    let found = shares(&description, &mesh, Density::Constant);
    let [foot, others, all] = [0, 1, 2].map(|k: usize| found[k].participation[0]);
    near(foot, others / 5.0, 5e-3);
    near(foot + others, all, 1e-9);
}

/// Outward of the disk's rim the field along the plane is 2/pi over r sqrt(r^2 - 1).
#[test]
fn a_film_in_the_interface_around_metal() {
    let (eps, cutoff) = (11.7, 1e-3);
    let (below, above) = (Beyond::Dielectric(eps), Beyond::Dielectric(1.0));
    let stack = Stack::default().below(below).above(above).tolerance(1e-6);
    let place = Place::Interface(0);
    let films = vec![film("disk", None, Some(cutoff)).place(place)];
    let description = Description::default().stack(Some(stack)).films(films);
    let [found] = &shares(&description, &disk(2000), Density::Linear)[..] else { panic!() };
    let rim: f64 = (1.0 + cutoff).powi(2);
    let square = 4.0 / PI * (rim / (rim - 1.0)).ln();
    let c = 2.0 / PI * 0.5 * (1.0 + eps);
    near(found.participation[0], THICKNESS * PERMITTIVITY * square / (4.0 * PI * c), 0.015);
}

/// Over a ground the field also goes through the plane around the disk: against sums of its square
/// at points, outside of a cutoff that triangles resolve.
#[test]
fn a_film_in_an_interface_over_a_ground() {
    let cutoff = 0.03;
    let layer = StackLayer { thickness: 0.6, permittivity: 3.0 };
    let (below, above) = (Beyond::Ground, Beyond::Dielectric(1.0));
    let stack =
        Stack::default().at(-0.6).below(below).layers(vec![layer]).above(above).tolerance(1e-6);
    // Midpoints, equally spaced in the fourth root of what r is beyond the cutoff.
    let (rings, spokes, far) = (200, 16, 30.0f64);
    let mut points = Vec::new();
    let mut areas = Vec::new();
    for ring in 0..rings {
        let (s, step) = ((f64::from(ring) + 0.5) / 200.0, far.powf(0.25) / 200.0);
        let y = s * far.powf(0.25);
        let r = 1.0 + cutoff + y.powi(4);
        for spoke in 0..spokes {
            let (sin, cos) = (f64::from(spoke) * 2.0 * PI / 16.0 + 0.1).sin_cos();
            points.push([r * cos, r * sin, 0.0]);
            areas.push(r * 2.0 * PI / 16.0 * 4.0 * y.powi(3) * step);
        }
    }
    let probe = Probe::new("plane", ProbePoints::Points(points));
    let films = vec![film("disk", None, Some(cutoff)).place(Place::Interface(1))];
    let description = Description::default()
        .conductors(vec![Conductor::new("disk").with(Setting::Potential(1.0))])
        .stack(Some(stack))
        .films(films)
        .probes(vec![probe]);
    let problem = Problem::new(description, disk(4000)).unwrap();
    let options = Options::default().density(Density::Linear);
    let solution = problem.solve(&options, &NoProgress).unwrap();
    let c = solution.matrices().maxwell_length[0][0];
    let probed = &solution.state.as_ref().unwrap().probes[0].field;
    let [mut sum, mut normal] = [0.0; 2];
    for ([x, y, z], area) in probed.iter().zip(areas) {
        // The field in the layer.
        let through = area * (3.0 * z).powi(2) / PERMITTIVITY;
        normal += through;
        sum += through + area * PERMITTIVITY * (x * x + y * y);
    }
    let expected = THICKNESS * sum / (4.0 * PI * c);
    near(solution.films[0].participation[0], expected, 0.02);
    let (along, through) = ((sum - normal) / PERMITTIVITY, normal * PERMITTIVITY);
    assert!(through > 0.1 * along, "the tension needs the field through the plane");
}

/// A metal sphere in a coat: D at the coat's outside is the charge over its area.
#[test]
fn films_on_coated_and_coaxial_spheres() {
    let shells = ConcentricSpheres {
        inner_radius: 1.0,
        outer_radius: 1.5,
        base: SphereBase::Icosahedron,
        resolution: Resolution::Elements(2560),
    };
    let mesh = shells.build().unwrap();
    let inside = Some(Toward::Medium("outer".to_owned()));
    let outside = Some(Toward::Medium(SURROUNDINGS.to_owned()));
    let coat = Dielectric::new("outer", 3.0);
    let description = Description::default()
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![coat])
        .films(vec![
            film("inner", inside, None),
            film("outer", None, None),
            film("outer", outside.clone(), None),
        ]);
    let found = shares(&description, &mesh, Density::Constant);
    let [metal, coat, same] = [0, 1, 2].map(|k: usize| found[k].participation[0]);
    // q^2/r^4 over 4 pi eps0 and C = q, per eps_f.
    let c = 1.0 / ((1.0 - 1.0 / 1.5) / 3.0 + 1.0 / 1.5);
    near(metal, THICKNESS / PERMITTIVITY * c, 0.01);
    near(coat, THICKNESS / PERMITTIVITY * c / 1.5f64.powi(2), 0.02);
    near(same, coat, 1e-9);
    let missing = description.films(vec![film("inner", outside, None)]);
    let fault = fault(missing, &mesh);
    assert_eq!(fault, FilmFault::Nowhere);
    // Between two spheres of metal, of which the outer one is hollow.
    let mesh = shells.build().unwrap();
    let films = vec![film("inner", None, None), film("outer", None, None)];
    let description = Description::default().films(films).relative_permittivity(2.0);
    let found = shares(&description, &mesh, Density::Constant);
    let c = 2.0 / (1.0 - 1.0 / 1.5);
    near(found[0].participation[0], THICKNESS / PERMITTIVITY * c, 0.01);
    near(found[1].participation[0], THICKNESS / PERMITTIVITY * c / 1.5f64.powi(2), 0.02);
}

/// A sphere of glass far from a charged one is in a field that is nearly even: E in it is
/// 3/(2 + eps) of that field, along its surface too.
#[test]
fn films_on_dielectrics_have_the_field_along_them() {
    let (eps, distance) = (5.0, 40.0);
    let far = moved(&sphere(320), |_| true, &Motion::along([0.0, 0.0, distance]));
    let parts = [("far", far), ("glass", sphere(1280))];
    let mesh = join::joined(parts.map(|(name, mesh)| (name.to_owned(), mesh)).to_vec());
    let groups: Vec<String> = mesh.groups.iter().map(|group| group.label()).collect();
    let glass = Dielectric::new("glass", eps).groups(vec![groups[1].clone()]);
    let metal = Conductor::new("far").groups(vec![groups[0].clone()]);
    let films = vec![film("glass", None, None)];
    let description =
        Description::default().conductors(vec![metal]).dielectrics(vec![glass]).films(films);
    let [found] = &shares(&description, &mesh, Density::Constant)[..] else { panic!() };
    let inside = 3.0 / (2.0 + eps) * 2.0 / distance.powi(2);
    // Means of cos^2 and sin^2 over a sphere of radius 2.
    let (normal, along) = ((eps * inside).powi(2) / 3.0, inside.powi(2) * 2.0 / 3.0);
    let sum = 4.0 * PI * 4.0 * (normal / PERMITTIVITY + along * PERMITTIVITY);
    near(found.participation[0], THICKNESS * sum / (4.0 * PI * 2.0), 0.02);
}

fn fault(description: Description, mesh: &Mesh) -> FilmFault {
    match Problem::new(description, mesh.clone()) {
        Err(Error::Faults(faults)) => match &faults[..] {
            [Fault::Film { film: 0, problem, .. }] => problem.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn films_that_cannot_be_are_reported() {
    let with = |film: Film| fault(Description::default().films(vec![film]), &disk(200));
    let cutoff = Some(0.01);
    assert_eq!(with(film("disk", None, None)), FilmFault::Sheet("disk".to_owned()));
    let FilmFault::Unknown { name, available } = with(film("disc", None, cutoff)) else { panic!() };
    assert_eq!((name.as_str(), available), ("disc", vec!["disk".to_owned()]));
    assert_eq!(with(film("disk", Some(Toward::Layer(1)), cutoff)), FilmFault::NoStack);
    let toward = Some(Toward::Medium("oxide".to_owned()));
    assert!(matches!(with(film("disk", toward, cutoff)), FilmFault::NoMedium { .. }));
    let thin = film("disk", None, cutoff).thickness(0.0);
    assert!(matches!(with(thin), FilmFault::Number { what: "its thickness", .. }));
    assert!(matches!(with(film("disk", None, Some(-1.0))), FilmFault::Number { .. }));
    let nowhere = film("disk", None, cutoff).place(Place::On { names: Vec::new(), toward: None });
    assert_eq!(with(nowhere), FilmFault::Nothing);
    assert_eq!(with(film("disk", None, Some(1.5))), FilmFault::Within(1.5));
}

/// A film that has a tenth of the energy is none.
#[test]
fn a_film_that_is_not_thin_is_a_warning() {
    let thick = |thickness: f64| {
        let films = vec![film("sphere", None, None).thickness(thickness)];
        let description = Description::default().films(films);
        let problem = Problem::new(description, sphere(320)).unwrap();
        problem.solve(&Options::default(), &NoProgress).unwrap().warnings
    };
    // Of a sphere of radius 2 the share is an eighth of the thickness.
    assert_eq!(thick(0.7), []);
    let [warning] = &thick(0.9)[..] else { panic!() };
    assert_eq!((warning.check, warning.is_error), ("film", false));
    let [warning] = &thick(9.0)[..] else { panic!() };
    assert!(warning.is_error && warning.message.contains("mesh it as a dielectric"));
}

/// As far from the edge as a ground is below, the field off the metal is nearly 0.
#[test]
fn a_share_that_is_not_known_is_a_warning() {
    let layer = StackLayer { thickness: 0.1, permittivity: 3.0 };
    let (below, above) = (Beyond::Ground, Beyond::Dielectric(3.0));
    let stack =
        Stack::default().at(-0.1).below(below).layers(vec![layer]).above(above).tolerance(1e-6);
    let films = vec![film("disk", None, Some(0.1)).place(Place::Interface(1))];
    let description = Description::default().stack(Some(stack)).films(films);
    let problem = Problem::new(description, disk(200)).unwrap();
    let solution = problem.solve(&Options::default(), &NoProgress).unwrap();
    let [found] = &solution.films[..] else { panic!() };
    assert!(found.participation[0] >= 0.0 && found.bars[0] > found.participation[0]);
    let [warning] = &solution.warnings[..] else { panic!("{:?}", solution.warnings) };
    assert!(!warning.is_error && warning.message.contains("is longer than its share"));
}

/// Charges of curved triangles are spread over their own areas: a film has the share that it has on
/// a sphere, not on facets, whose area is 5 % less here; and with a coat around the metal, whose
/// fields are those at points of the curved surface.
#[test]
fn curved_triangles_have_films_on_their_own_areas() {
    let resolution = Resolution::Elements(128);
    let base = SphereBase::Octahedron;
    let of = |radius: f64| Sphere { radius, base, resolution }.build_curved(4).unwrap();
    for density in [Density::Constant, Density::Linear] {
        let films = vec![film("sphere", None, None)];
        let description = Description::default().films(films);
        let [found] = &shares(&description, &of(2.0), density)[..] else { panic!() };
        near(found.participation[0], THICKNESS / 2.0 / PERMITTIVITY, 1e-3);
    }
    let resolution = Resolution::Elements(512);
    let shells = ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.7, base, resolution };
    let mesh = shells.build_curved(4).unwrap();
    let description = Description::default()
        .relative_permittivity(2.2)
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", 4.3)])
        .films(vec![film("inner", None, None), film("outer", None, None)]);
    let [core, coat] = &shares(&description, &mesh, Density::Linear)[..] else { panic!() };
    // Twice the energy at 1 V over 4 pi eps0 is the capacitance; D is that over r^2.
    let capacitance = 1.0 / ((1.0 - 1.0 / 1.7) / 4.3 + 1.0 / 1.7 / 2.2);
    let share = |r: f64| THICKNESS / PERMITTIVITY * capacitance / (r * r);
    near(core.participation[0], share(1.0), 1e-3);
    near(coat.participation[0], share(1.7), 1e-3);
}

/// Strips of 2 x 8 on silicon with a gap of 0.3: values that differ from mesh to mesh do so within
/// their bars.
#[test]
fn bars_of_films_are_those_of_meshes() {
    let (eps, gap) = (11.7, 0.3);
    let (below, above) = (Beyond::Dielectric(eps), Beyond::Dielectric(1.0));
    let stack = Stack::default().below(below).above(above).tolerance(1e-6);
    let strips = |grade: f64, elements: usize| {
        let resolution = Resolution::Elements(elements);
        let strip = Plate { width: 2.0, height: 8.0, grade, resolution }.build().unwrap();
        let other = moved(&strip, |_| true, &Motion::along([2.0 + gap, 0.0, 0.0]));
        join::joined(vec![("a".into(), strip), ("b".into(), other)])
    };
    // By a method of moments on rectangles (`benches/truths.py`), to 0.5 %.
    let of_cutoffs = [(0.05, 2.020e-5), (0.01, 3.60e-5), (1e-3, 6.00e-5), (1e-4, 8.42e-5)];
    let wanted = |(cutoff, _): &(f64, f64)| {
        let place = Place::On {
            names: vec!["plate".to_owned(), "b_plate".to_owned()],
            toward: Some(Toward::Layer(0)),
        };
        let name = format!("ms{cutoff}");
        Film::default()
            .name(name)
            .place(place)
            .thickness(2e-5)
            .relative_permittivity(10.0)
            .cutoff(Some(*cutoff))
    };
    let films = of_cutoffs.iter().map(wanted).collect();
    let description = Description::default().stack(Some(stack)).films(films);
    for (grade, elements, most) in [(1.0, 64, 1.1), (2.0, 128, 0.3), (3.0, 288, 0.25)] {
        for density in [Density::Constant, Density::Linear] {
            let found = shares(&description, &strips(grade, elements), density);
            for (film, (cutoff, exact)) in found.iter().zip(of_cutoffs) {
                let (share, bar) = (film.participation[0], film.bars[0]);
                let off = (share - exact).abs();
                assert!(
                    off < bar + 0.005 * exact && bar < most * share,
                    "{grade} {density:?} {cutoff}: {share:e} +- {bar:e}, {exact:e}"
                );
            }
        }
    }
}

/// A qubit's two pads of four triangles: meshes that are refined have long triangles next to short
/// ones along edges. Exact by a method of moments on rectangles (`benches/truths.py`), to 1 %.
#[test]
fn films_on_meshes_that_an_accuracy_refines() {
    let stack = Stack::default().below(Beyond::Dielectric(11.45)).tolerance(1e-6);
    let toward = Some(Toward::Layer(0));
    let on_metal = film("", toward.clone(), Some(0.1));
    let both = Place::On { names: vec!["plate".to_owned(), "b_plate".to_owned()], toward };
    let films = vec![
        on_metal.clone().name("below".to_owned()).place(both),
        on_metal.name("beside".to_owned()).place(Place::Interface(0)),
    ];
    let description = Description::default().stack(Some(stack)).films(films);
    let pad = |y: f64| {
        let resolution = Resolution::Elements(2);
        let pad = Plate { width: 500.0, height: 120.0, grade: 1.0, resolution }.build().unwrap();
        moved(&pad, |_| true, &Motion::along([0.0, y, 0.0]))
    };
    let mesh = join::joined(vec![("a".into(), pad(80.0)), ("b".into(), pad(-80.0))]);
    let exact = [7.92e-5, 9.69e-6];
    for (target, accuracy) in [(Target::All, 1e-4), (Target::Films, 6e-2)] {
        let goal = Goal { accuracy, target: target.clone(), max_seconds: None };
        let problem = Problem::new(description.clone(), mesh.clone()).unwrap();
        let options = Options::default().density(Density::Linear);
        let found = refine(problem, &goal, &options, &NoProgress, &mut |_, _| ()).unwrap();
        assert_eq!(found.outcome, Outcome::Reached, "{target}");
        for (film, exact) in found.solution.films.iter().zip(exact) {
            for (share, bar) in film.participation.iter().zip(&film.bars) {
                let off = (share - exact).abs();
                assert!(off < bar + 0.01 * exact, "{target}: {share:e} +- {bar:e}, not {exact:e}");
                assert!(*bar < 0.1 * exact, "{target}: {share:e} +- {bar:e}");
                assert!(target == Target::All || *bar <= accuracy * share, "{share:e} +- {bar:e}");
            }
        }
    }
}

/// Strips of 1 x 5 across a gap that is five times the cutoff: within it the field off the metal is
/// not that on metal. By a method of moments on rectangles (`benches/truths.py`), to 1 %.
#[test]
fn films_in_gaps_little_wider_than_the_cutoff() {
    let (eps, gap, exact) = (11.7, 0.1, 6.05e-4);
    let (below, above) = (Beyond::Dielectric(eps), Beyond::Dielectric(1.0));
    let stack = Stack::default().below(below).above(above).tolerance(1e-6);
    let films = vec![film("", None, Some(0.02)).place(Place::Interface(0))];
    let description = Description::default().stack(Some(stack)).films(films);
    let resolution = Resolution::Elements(250);
    let strip = Plate { width: 1.0, height: 5.0, grade: 2.0, resolution }.build().unwrap();
    // Turned, so that places on edges are only nearly on them.
    let other = moved(&strip, |_| true, &Motion::along([1.0 + gap, 0.0, 0.0]));
    let mut mesh = join::joined(vec![("a".into(), strip), ("b".into(), other)]);
    let (sin, cos) = 0.4f64.sin_cos();
    for [x, y, _] in &mut mesh.vertices {
        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    }
    for density in [Density::Constant, Density::Linear] {
        let [found] = &shares(&description, &mesh, density)[..] else { panic!() };
        for (share, bar) in found.participation.iter().zip(&found.bars) {
            let off = (share - exact).abs();
            assert!(off < 0.06 * exact, "{density:?}: {share:e} +- {bar:e}");
            assert!(
                off < bar + 0.01 * exact && *bar < 0.4 * exact,
                "{density:?}: {share:e} +- {bar:e}"
            );
        }
    }
}

/// A square of side 1: at its corners there is more next to the metal than across from its edges
/// alone, by a method of moments on cells of which each is a fifth larger than the one before.
/// Triangles at edges may be much narrower than the cutoff.
#[test]
fn corners_count_next_to_metal() {
    let (eps, cutoff, exact) = (2.0, 0.0275, 1.0575);
    let stack = Stack::default().below(Beyond::Dielectric(eps)).tolerance(1e-6);
    let below = film("plate", Some(Toward::Layer(0)), Some(cutoff));
    let films = vec![below.clone(), below.place(Place::Interface(0))];
    let description = Description::default().stack(Some(stack)).films(films);
    for grade in [2.0, 6.0] {
        let resolution = Resolution::Elements(200);
        let mesh = Plate { width: 1.0, height: 1.0, grade, resolution }.build().unwrap();
        let [below, beside] = &shares(&description, &mesh, Density::Linear)[..] else { panic!() };
        let squares = beside.participation[0] / PERMITTIVITY;
        let on_metal = below.participation[0] * PERMITTIVITY / (eps * eps);
        near(squares / on_metal, exact, 0.01);
    }
}
