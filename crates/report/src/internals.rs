//! What the program `tests/internals` looks into: no part of the interface, free to change.

pub mod chart {
    pub use crate::page::chart::{
        Axis, Couplings, Curve, HEIGHT, MOST_CELLS, Scale, WIDTH, curves, file, heat_map, short,
    };
}

pub mod colour {
    pub use crate::page::colour::{DIVERGING, NONE, SEQUENTIAL, at, of_body};
}

pub mod decimate {
    pub use crate::page::decimate::{area, decimated};
}

pub mod html {
    pub use crate::page::html::{escape, script_json, table};
}

pub mod matrix {
    pub use crate::page::matrix::{STRONGEST, couplings, shares, table};
}

pub mod numbers {
    pub use crate::page::numbers::{plain, small, unit, with_bar};
}

pub mod page {
    pub use crate::page::surface::{Surface, parts};
    pub use crate::page::{LICENCE, MOST_BYTES, VIEWER, date, make};
}

pub mod picture {
    pub use crate::page::picture::{axes, draw};
}

pub mod png {
    pub use crate::page::png::encode;
}

pub mod scene {
    pub use crate::page::scene::{code, range};
}
