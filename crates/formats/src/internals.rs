//! What the program `tests/internals` looks into: no part of the interface, free to change.

/// What is private of a public module.
pub mod matrices {
    pub const LINE: usize = crate::matrices::LINE;

    pub fn legal(names: &[String]) -> Vec<String> {
        crate::matrices::legal(names)
    }

    pub fn with_exponent(text: &str) -> String {
        crate::matrices::with_exponent(text)
    }
}

pub mod gds {
    pub mod flatten {
        pub use crate::layout::gds::flatten::{Bounds, Flat, flatten, top};
    }
    pub mod nets {
        pub use crate::layout::gds::nets::{Nets, Piece, Short, nets, pieces};
    }
    pub mod path {
        pub use crate::layout::gds::path::outline;
    }
    pub mod stack {
        pub use crate::layout::gds::stack::{LabelsOf, Span, Stack, StackLayer, Unlabelled};
    }
    pub mod stream {
        pub use crate::layout::gds::stream::{
            ENDEL, Ends, Label, Layer, Library, MAG, Path, Record, Reference, Shape,
        };
    }
}

/// What is private of a public module.
pub mod layout {
    use mesh::files::Error;
    use mesh::prisms::Fault;

    /// The error of a file in the format PEX25D of whose bodies no surface can be made.
    pub fn no_surface(file: &[u8], fault: Fault) -> Result<Error, Error> {
        crate::layout::pex25d::without_surface(file, fault)
    }
}
