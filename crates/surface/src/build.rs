//! From atoms to a mesh.

use crate::balls::balls;
use crate::connectivity::Connectivity;
use crate::error::Error;
use crate::field::{Feature, Field};
use crate::lattice::first_mesh;
use crate::offset::Offset;
use crate::options::{Atom, Kind, Options, Resolution};
use crate::shape::{Shape, Tag};
use mesh::Mesh;
use rayon::prelude::*;

/// Lattice constants relative to the details of the surface, at most.
const DETAIL: f64 = 0.35;

/// x
pub fn molecular(atoms: &[Atom], options: &Options) -> Result<Mesh, Error> {
    options.check()?;
    let (inflation, level) = match options.kind {
        Kind::SolventExcluded => (options.probe, options.probe),
        Kind::SolventAccessible => (options.probe, 0.0),
        _ => (0.0, 0.0),
    };
    let t = std::time::Instant::now();
    let field = Offset::new(balls(atoms, inflation)?, level);
    eprintln!("field {:?}", t.elapsed());
    of_field(&field, options)
}

/// Finer lattices that are tried if the first one does not do.
const ATTEMPTS: usize = 6;

/// Attempts with edges along creases. Later ones leave triangles across creases as they are on the
/// lattice, where none crosses another one.
const CUT_ATTEMPTS: usize = 2;

/// Rounds of repairs on one lattice.
const REPAIRS: usize = 5;

/// Repairs go on while they leave at most this share of the bad triangles.
const PROGRESS: f64 = 0.7;

/// Wanted lengths at bad places are made smaller by this.
const FINER: f64 = 0.65;

fn of_field<F: Field>(field: &F, options: &Options) -> Result<Mesh, Error> {
    let density = match options.resolution {
        Resolution::Density(d) => d,
        Resolution::Elements(_) => 4.0,
    };
    let side = (4.0 / (3f64.sqrt() * density)).sqrt();
    let constant = (DETAIL * field.detail()).min(1.5 * side);
    let mut last = Error::Unresolved { side };
    for attempt in 0..ATTEMPTS {
        let k = attempt as f64;
        let constant = constant * 0.75f64.powf(k);
        let mut shape = first_shape(field, constant, 0.37 * k)?;
        shape.collapse_tiny();
        if attempt < CUT_ATTEMPTS {
            shape.cut_creases();
            shape.tidy();
        } else {
            shape.freeze();
        }
        shape.set_sizes(side);
        shape.remesh();
        match repair(&mut shape, side) {
            Ok(mesh) => {
                if attempt > 0 {
                    eprintln!("attempt {attempt}");
                }
                return Ok(mesh);
            }
            Err(error) => last = error,
        }
        eprintln!("attempt {attempt}: {last}");
    }
    Err(last)
}

/// Triangles on a lattice, with normals.
fn first_shape<F: Field>(field: &F, constant: f64, shift: f64) -> Result<Shape<'_, F>, Error> {
    let first = first_mesh(field, constant, shift)?;
    let mesh = Connectivity::new(first.vertices.len(), first.triangles)
        .ok_or(Error::Unresolved { side: constant })?;
    let feet: Vec<_> = first
        .vertices
        .par_iter()
        .map(|&x| {
            field.foot(x).map_or((x, [0.0; 3], Tag::Corner), |foot| {
                (foot.point, foot.normal, Tag::Smooth(foot.feature))
            })
        })
        .collect();
    Ok(Shape {
        field,
        mesh,
        places: feet.iter().map(|f| f.0).collect(),
        normals: feet.iter().map(|f| f.1).collect(),
        tags: feet.iter().map(|f| f.2).collect(),
        sizes: vec![constant; feet.len()],
    })
}

/// Improves triangles until none crosses another one and none has too small an angle.
fn repair<F: Field>(shape: &mut Shape<'_, F>, side: f64) -> Result<Mesh, Error> {
    let mut found = Error::Unresolved { side };
    let mut before = usize::MAX;
    for round in 0..REPAIRS {
        shape.improve(25f64.to_radians().sin());
        let (triangles, kept) = shape.mesh.compact();
        let alive: Vec<u32> = (0..shape.mesh.triangles.len() as u32)
            .filter(|&t| shape.mesh.is_alive(3 * t))
            .collect();
        let vertices = kept.iter().map(|&v| shape.places[v as usize]).collect();
        let membership = vec![0; triangles.len()];
        let mesh =
            Mesh { vertices, triangles, membership, memberships: vec![vec![]], ..Mesh::default() };
        let crossings = mesh::intersect::intersections(&mesh);
        let least = 15f64.to_radians().sin();
        let thin: Vec<u32> = alive
            .par_iter()
            .copied()
            .filter(|&t| crate::shape::quality(shape.corners(t)) < least)
            .collect();
        if crossings.is_empty() && thin.is_empty() {
            return Ok(mesh);
        }
        let bad: Vec<u32> = crossings
            .iter()
            .flat_map(|pair| pair.triangles)
            .map(|t| alive[t as usize])
            .chain(thin.iter().copied())
            .collect();
        let angle = shape.worst(0.0).0.asin().to_degrees();
        let place = shape.corners(bad[0])[0];
        found = Error::Quality { side, crossings: crossings.len(), angle, place };
        if std::env::var("V").is_ok() {
            eprintln!(
                "  round {round}: {} crossings {} thin, {angle} near {place:?}",
                crossings.len(),
                thin.len()
            );
        }
        if std::env::var("V").is_ok() {
            for pair in crossings.iter().take(6) {
                for t in pair.triangles {
                    let c = shape.mesh.triangles[alive[t as usize] as usize];
                    eprint!("   ");
                    for v in c {
                        let tag = match shape.tags[v as usize] {
                            Tag::Corner => "corner",
                            Tag::Crease(_) => "crease",
                            Tag::Smooth(_) => "smooth",
                        };
                        let x = shape.places[v as usize];
                        eprint!(" {v} {tag} {:.3} {:.3} {:.3};", x[0], x[1], x[2]);
                    }
                    eprintln!(
                        " q {:.3} faces {}",
                        crate::shape::quality(shape.corners(alive[t as usize])),
                        shape.faces(c, shape.corners(alive[t as usize]))
                    );
                }
                eprintln!("   {:?}", pair.meeting);
            }
        }
        if std::env::var("V").is_ok() && round == 0 {
            let mut s = format!("OFF\n{} {} 0\n", mesh.vertices.len(), mesh.triangles.len());
            for v in &mesh.vertices {
                s += &format!("{} {} {}\n", v[0], v[1], v[2]);
            }
            for t in &mesh.triangles {
                s += &format!("3 {} {} {}\n", t[0], t[1], t[2]);
            }
            std::fs::write("/tmp/t/bad.off", s).unwrap();
        }
        if round + 1 == REPAIRS || bad.len() as f64 > PROGRESS * before as f64 {
            break;
        }
        before = bad.len();
        let mut corners: Vec<u32> =
            bad.iter().flat_map(|&t| shape.mesh.triangles[t as usize]).collect();
        corners.sort_unstable();
        corners.dedup();
        for v in corners {
            shape.sizes[v as usize] *= FINER;
        }
        shape.grade();
        shape.rounds(2);
    }
    Err(found)
}
