//! What the program `tests/internals` looks into: no part of the interface, free to change.

pub mod accuracy {
    pub use crate::refine::goal::tolerance_for;
    pub use crate::refine::judge::{is_stalled, stretch};
}

pub mod checks {
    pub use crate::analysis::checks::{
        INDUCED, Induced, balance, entry, fmm_error, gauss, induced, participations, residual,
        unresolved,
    };
}

pub mod conductors {
    pub use crate::problem::conductors::assign;
}

pub mod descent {
    pub use crate::refine::descent::Descent;
    pub use crate::result::charges::Known;
}

pub mod films {
    pub mod rims {
        pub use crate::analysis::films::across::{Across, OF_GROUND};
        pub use crate::analysis::films::rims::{Inner, Rims};
    }
    pub mod squares {
        pub use crate::analysis::films::squares::{Piece, nodes};
    }
    pub mod wedge {
        pub use crate::analysis::films::wedge::{Face, around, exponent};
    }
}

/// What is private of a public module.
pub mod formats {
    pub const LINE: usize = crate::formats::LINE;

    pub fn legal(names: &[String]) -> Vec<String> {
        crate::formats::legal(names)
    }

    pub fn with_exponent(text: &str) -> String {
        crate::formats::with_exponent(text)
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

pub mod hydrodynamics {
    pub use crate::analysis::hydrodynamics::{eigenvalues, prefactor, viscosity};
}

pub mod layers {
    pub use crate::problem::layers::find;
}

/// What is private of a public module.
pub mod layout {
    use mesh::files::Error;
    use mesh::prisms::Fault;

    /// The error of a file in the format PEX25D of whose bodies no surface can be made.
    ///
    /// # Errors
    /// What is wrong with the file itself.
    pub fn no_surface(file: &[u8], fault: Fault) -> Result<Error, Error> {
        crate::layout::pex25d::without_surface(file, fault)
    }
}

pub mod marking {
    pub use crate::refine::marking::{LEAST_STRETCH, LONG, MOST_BENT, evenness};
}

pub mod media_check {
    pub use crate::problem::media_check::find;
}

pub mod names {
    pub use crate::problem::names::fits;
}

pub mod permittivities {
    pub use crate::analysis::permittivities::{Medium, all};

    /// What a potential of 1 on each of the conductors makes.
    pub fn units(solution: &crate::Solution) -> &[bem::Response] {
        &solution.units
    }
}

pub mod piece {
    pub use crate::piece::LEAST;
}

pub mod planes {
    pub use crate::problem::planes::{Side, Symmetry};
}

pub mod salt {
    pub use crate::analysis::salt::{MOST_OF_FLUX, flux};
}

pub mod solution {
    pub use crate::result::matrices::relative_asymmetry;
}
