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

fn of_field<F: Field>(field: &F, options: &Options) -> Result<Mesh, Error> {
    let density = match options.resolution {
        Resolution::Density(d) => d,
        Resolution::Elements(_) => 4.0,
    };
    let side = (4.0 / (3f64.sqrt() * density)).sqrt();
    let constant = (DETAIL * field.detail()).min(1.5 * side);
    let t = std::time::Instant::now();
    let first = first_mesh(field, constant, 0.0)?;
    eprintln!("first {:?} {} triangles, lattice {constant}", t.elapsed(), first.triangles.len());
    let t = std::time::Instant::now();
    let mesh = Connectivity::new(first.vertices.len(), first.triangles)
        .ok_or(Error::Unresolved { side })?;
    eprintln!("connect {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let feet: Vec<_> = first
        .vertices
        .par_iter()
        .map(|&x| {
            field.foot(x).map_or((x, [0.0; 3], Tag::Smooth(Feature::Smooth)), |foot| {
                (foot.point, foot.normal, Tag::Smooth(foot.feature))
            })
        })
        .collect();
    let mut shape = Shape {
        field,
        mesh,
        places: feet.iter().map(|f| f.0).collect(),
        normals: feet.iter().map(|f| f.1).collect(),
        tags: feet.iter().map(|f| f.2).collect(),
        sizes: vec![constant; feet.len()],
    };
    eprintln!("feet {:?}", t.elapsed());
    let t = std::time::Instant::now();
    shape.collapse_tiny();
    eprintln!("before creases: worst {:?}", shape.worst(15f64.to_radians().sin()));
    shape.cut_creases();
    let creased = (0..shape.mesh.half_edges()).filter(|&h| shape.mesh.is_creased(h)).count();
    eprintln!("creases {:?} {creased}", t.elapsed());
    let t = std::time::Instant::now();
    shape.tidy();
    eprintln!(
        "tidy {:?}, corners {}",
        t.elapsed(),
        shape.tags.iter().filter(|t| **t == Tag::Corner).count()
    );
    shape.set_sizes(side);
    shape.remesh();
    eprintln!("remesh {:?} worst {:?}", t.elapsed(), shape.worst(15f64.to_radians().sin()));
    let t = std::time::Instant::now();
    let left = shape.improve(25f64.to_radians().sin());
    eprintln!(
        "improve {:?} left {left} worst {:?}",
        t.elapsed(),
        shape.worst(15f64.to_radians().sin())
    );
    let (triangles, kept) = shape.mesh.compact();
    let off = kept.iter().map(|&v| field.value(shape.places[v as usize]).abs()).fold(0.0, f64::max);
    eprintln!("off {off:e}, {} triangles", triangles.len());
    let vertices = kept.iter().map(|&v| shape.places[v as usize]).collect();
    let membership = vec![0; triangles.len()];
    Ok(Mesh { vertices, triangles, membership, memberships: vec![vec![]], ..Mesh::default() })
}
