//! Unit tests, of what the crate's public interface does not show too.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

mod bezier;
mod cells;
mod coarsen;
mod conform;
mod contact;
mod creases;
mod crossing;
mod curved;
mod disjoint;
mod files {
    mod lines;
}
mod generate {
    mod curved;
    mod grading;
    mod molecule;
}
mod gmsh {
    mod faces;
    mod kinds;
    mod scan;
    mod tags;
}
mod intersect;
mod join;
mod lift;
mod local_refine;
mod locate;
mod measure;
mod mirror;
mod orient;
mod outlines;
mod overlay;
mod patch;
mod polygon;
mod prisms;
mod probe;
mod proximity;
mod quality;
mod refine;
mod regions;
mod repair {
    mod cut;
}
mod shadows;
mod sheet;
mod spheres;
mod split;
mod stitch;
mod surface;
mod testing;
mod transform;
mod weld;
mod wording;
