//! Internals for the test program `tests/internals`: not part of the interface, may change.

pub mod accuracy {
    pub use crate::refine::goal::tolerance_for;
    pub use crate::refine::judge::{Judge, Judgement, Verdict, is_stalled, stretch};
    pub use crate::refine::level::up_to;
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

pub mod foresight {
    pub use crate::refine::foresight::{Foresight, GROWTH, Gain};
}

pub mod hydrodynamics {
    pub use crate::analysis::hydrodynamics::{eigenvalues, prefactor, viscosity};
}

pub mod layers {
    pub use crate::problem::layers::find;
}

pub mod marking {
    pub use crate::refine::marking::{LEAST_STRETCH, LONG, MOST_BENT, evenness, with_needles};
}

pub mod media_check {
    pub use crate::problem::media_check::find;
}

pub mod names {
    pub use crate::problem::names::fits;
}

pub mod permittivities {
    pub use crate::analysis::permittivities::{Medium, all, shares};

    /// Responses to a potential of 1 on each of the conductors.
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
