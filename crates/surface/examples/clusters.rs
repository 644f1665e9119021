//! Meshes 200 clusters of 3 to 300 atoms, of all kinds of surfaces, and counts what is wrong.
use std::f64::consts::TAU;
use surface::*;

struct Random(u64);
impl Random {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) / f64::from(1u32 << 31)
    }
    fn radius(&mut self) -> f64 {
        [1.2, 1.5, 1.55, 1.7, 1.8, 1.0][(6.0 * self.next()) as usize]
    }
}

fn cluster(n: u64) -> (&'static str, Vec<Atom>) {
    let mut r = Random(n + 1);
    for _ in 0..5 {
        r.next();
    }
    let count = (3.0 * 100f64.powf(r.next())) as usize;
    let atom = |x: f64, y: f64, z: f64, radius: f64| Atom { centre: [x, y, z], radius };
    match n % 8 {
        0 => {
            // loose
            let l = 2.2 * (count as f64).cbrt();
            (
                "loose",
                (0..count)
                    .map(|_| {
                        let [x, y, z] = [0; 3].map(|_| l * r.next());
                        atom(x, y, z, r.radius())
                    })
                    .collect(),
            )
        }
        1 => {
            // dense, overlaps
            let l = 1.3 * (count as f64).cbrt();
            (
                "dense",
                (0..count)
                    .map(|_| {
                        let [x, y, z] = [0; 3].map(|_| l * r.next());
                        atom(x, y, z, r.radius())
                    })
                    .collect(),
            )
        }
        2 => {
            // chain, bonded
            let (mut at, mut d) = ([0.0; 3], [1.0, 0.0, 0.0]);
            (
                "chain",
                (0..count)
                    .map(|_| {
                        let t: [f64; 3] = [0; 3].map(|_| r.next() - 0.5);
                        d = std::array::from_fn(|k| d[k] + 1.2 * t[k]);
                        let n = d.iter().map(|x| x * x).sum::<f64>().sqrt();
                        d = d.map(|x| x / n);
                        at = std::array::from_fn(|k| at[k] + 1.5 * d[k]);
                        atom(at[0], at[1], at[2], r.radius())
                    })
                    .collect(),
            )
        }
        3 => {
            // symmetric ring in a plane
            let count = count.clamp(3, 40);
            let (radius, ring) = (r.radius(), (0.6 + r.next()) * count as f64 / 4.0);
            (
                "ring",
                (0..count)
                    .map(|k| {
                        let (s, c) = (TAU * k as f64 / count as f64).sin_cos();
                        atom(ring * c, ring * s, 0.0, radius)
                    })
                    .collect(),
            )
        }
        4 => {
            // exact cubic lattice
            let side = (count as f64).cbrt().ceil().clamp(2.0, 5.0) as usize;
            let (radius, step) = (r.radius(), 1.0 + 3.0 * r.next());
            (
                "lattice",
                (0..side * side * side)
                    .map(|k| {
                        atom(
                            step * (k % side) as f64,
                            step * (k / side % side) as f64,
                            step * (k / side / side) as f64,
                            radius,
                        )
                    })
                    .collect(),
            )
        }
        5 => {
            // tangent spheres
            let radius = r.radius();
            let count = count.min(60);
            let mut all = vec![atom(0.0, 0.0, 0.0, radius)];
            while all.len() < count {
                let base = all[(r.next() * all.len() as f64) as usize];
                let other = r.radius();
                let axis = (3.0 * r.next()) as usize;
                let sign = if r.next() < 0.5 { -1.0 } else { 1.0 };
                let mut c = base.centre;
                c[axis] += sign * (base.radius + other);
                all.push(Atom { centre: c, radius: other });
            }
            ("tangent", all)
        }
        6 => {
            // coplanar, copies, nested, zero radii
            let l = 2.0 * (count as f64).sqrt();
            let mut all: Vec<Atom> = Vec::new();
            for k in 0..count {
                let (x, y) = (l * r.next(), l * r.next());
                all.push(match k % 5 {
                    3 => all[k / 2],
                    4 => Atom { radius: 0.5 * all[k - 2].radius, ..all[k - 2] },
                    _ => atom(x, y, 0.0, if k % 7 == 2 { 0.0 } else { r.radius() }),
                });
            }
            ("coplanar", all)
        }
        _ => {
            // hollow shell: a cavity
            let count = count.max(40);
            let radius = 3.0 + (count as f64).sqrt() * 0.45;
            (
                "shell",
                (0..count)
                    .map(|k| {
                        let z = 1.0 - (2 * k + 1) as f64 / count as f64;
                        let (s, c) = (2.399_963_229_728_653 * k as f64).sin_cos();
                        let out = (1.0 - z * z).sqrt();
                        atom(radius * out * c, radius * out * s, radius * z, r.radius())
                    })
                    .collect(),
            )
        }
    }
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let density: f64 = a.get(1).map_or(4.0, |x| x.parse().unwrap());
    let only: Option<u64> = a.get(2).and_then(|x| x.parse().ok());
    let kinds = [
        ("ses", Kind::SolventExcluded),
        ("vdw", Kind::VanDerWaals),
        ("sas", Kind::SolventAccessible),
        ("gaussian", Kind::Gaussian),
    ];
    for (name, kind) in kinds {
        if let Some(k) = a.get(3)
            && k != name
        {
            continue;
        }
        let (mut good, mut bad, mut worst) = (0, vec![], 90.0f64);
        let (mut triangles, start) = (0, std::time::Instant::now());
        for n in 0..200 {
            if only.is_some_and(|o| o != n) {
                continue;
            }
            let (family, atoms) = cluster(n);
            let t = std::time::Instant::now();
            match molecular(
                &atoms,
                &Options { kind, resolution: Resolution::Density(density), ..Options::default() },
            ) {
                Ok(s) => {
                    let m = s.mesh;
                    let r = mesh::check::Report::of(&m).unwrap();
                    let crossings = mesh::intersect::intersections(&m).len();
                    triangles += m.triangles.len();
                    worst = worst.min(r.quality.min_angle.min);
                    let outward = r.whole.signed_volume > 0.0 && r.whole.flipped_edges == 0;
                    if r.whole.closed
                        && outward
                        && r.non_manifold_edges.is_empty()
                        && crossings == 0
                        && r.quality.min_angle.min >= 15.0
                    {
                        good += 1
                    } else {
                        bad.push(format!("{n} {family}: closed {} outward {outward} crossings {crossings} angle {:.2}", r.whole.closed, r.quality.min_angle.min));
                    }
                }
                Err(e) => bad.push(format!("{n} {family} {} atoms: {e}", atoms.len())),
            }
            if t.elapsed().as_secs_f64() > 3.0 {
                bad.push(format!("slow {n} {family} {} atoms {:?}", atoms.len(), t.elapsed()));
            }
        }
        println!(
            "{name}: good {good}, {triangles} triangles, worst angle {worst:.2}, {:.1} s",
            start.elapsed().as_secs_f64()
        );
        for b in bad {
            println!("   {b}");
        }
    }
}
