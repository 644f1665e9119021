//! Tests of what the library has inside, in the order of its files.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod accuracy;
mod atoms;
mod checks;
mod conductors;
mod descent;
mod description;
mod films {
    mod rims;
    mod squares;
    mod wedge;
}
mod formats;
mod goal;
mod hydrodynamics;
mod in_metal;
mod layers;
mod layout;
mod marking;
mod media;
mod media_check;
mod meetings;
mod names;
mod near_surface;
mod network;
mod permittivities;
mod piece;
mod planes;
mod pqr;
mod problem;
mod reduction;
mod salt;
mod solution;
mod sources;
mod study;
mod sweep;
mod testing;
mod units;
