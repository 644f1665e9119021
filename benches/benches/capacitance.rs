//! Pair integrals, the assembly of the near field, and whole solves for a capacitance.

use std::hint::black_box;
use std::time::Duration;

use bem::{
    Capacitance, Conductors, Method, NoProgress, PairQuadrature, SolveOptions, Triangle,
    capacitance,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mesh::Mesh;
use mesh::generate::{Resolution, Sphere, SphereBase};

const ELEMENTS: usize = 8192;

fn sphere() -> Mesh {
    let sphere = Sphere {
        radius: 1.0,
        base: SphereBase::Octahedron,
        resolution: Resolution::Elements(ELEMENTS),
    };
    sphere.build().expect("a sphere of this resolution exists")
}

fn solve(mesh: &Mesh, method: Method) -> Capacitance {
    let of_triangle = vec![Some(0); mesh.triangles.len()];
    let options = SolveOptions::default().method(method).tolerance(1e-5);
    let conductors = Conductors { of_triangle: &of_triangle, count: 1 };
    capacitance(mesh, conductors, &options, &NoProgress).expect("a sphere can be solved")
}

fn pairs(c: &mut Criterion) {
    let s = Triangle::new([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    let away =
        |d: f64| Triangle::new([[1.0 + d, d, 0.1], [d, 1.0 + d, 0.2], [1.0 + d, 1.0 + d, 0.5]]);
    let others = [
        ("itself", s),
        ("common edge", Triangle::new([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.8, 0.9, 0.4]])),
        ("common vertex", Triangle::new([[0.0, 0.0, 0.0], [-1.0, 0.1, 0.2], [-0.2, -0.9, 0.1]])),
        ("close", away(0.3)),
        ("two sizes apart", away(2.0)),
    ];
    let mut group = c.benchmark_group("pair integral, 1e-6");
    let rule = PairQuadrature::new(1e-6, 0);
    for (name, t) in others {
        group.bench_function(name, |b| b.iter(|| rule.single_layer(black_box(&s), black_box(&t))));
    }
    group.finish();
}

fn near_field(c: &mut Criterion) {
    let mesh = sphere();
    let mut group = c.benchmark_group("near field and preconditioner");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.throughput(Throughput::Elements(mesh.triangles.len() as u64));
    group.bench_function("sphere", |b| {
        // Part of a whole solve, which times it.
        b.iter_custom(|repeats| {
            let seconds = |_| solve(&mesh, Method::Fmm).timings.near_field;
            Duration::from_secs_f64((0..repeats).map(seconds).sum())
        });
    });
    group.finish();
}

fn solves(c: &mut Criterion) {
    let mesh = sphere();
    let mut group = c.benchmark_group("capacitance");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.throughput(Throughput::Elements(mesh.triangles.len() as u64));
    group.bench_function("sphere", |b| b.iter(|| solve(black_box(&mesh), Method::Fmm)));
    group.finish();
}

criterion_group!(benches, pairs, near_field, solves);
criterion_main!(benches);
