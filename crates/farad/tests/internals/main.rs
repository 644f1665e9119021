//! Tests of what the library has inside, in the order of its files.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod analysis {
    mod checks;
    mod films {
        mod rims;
        mod squares;
        mod wedge;
    }
    mod hydrodynamics;
    mod near_surface;
    mod permittivities;
    mod salt;
}
mod piece;
mod problem {
    mod conductors;
    mod in_metal;
    mod layers;
    mod media;
    mod media_check;
    mod meetings;
    mod names;
    mod planes;
    mod sources;
}
mod refine {
    mod accuracy;
    mod descent;
    mod foresight;
    mod marking;
    mod target;
}
mod result {
    mod key;
    mod matrices;
    mod quantities;
    mod record;
    mod reduction;
    mod unit;
}
mod scene {
    mod description;
}
mod series {
    mod study;
    mod sweep;
}
mod set_up;
mod testing;
mod units;
