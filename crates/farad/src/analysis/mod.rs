//! What is found of the charges that solve a problem, a module for each result, and how far to
//! trust it.

pub(crate) mod bars;
pub(crate) mod checks;
pub(crate) mod energy;
pub(crate) mod excitations;
pub(crate) mod films;
pub(crate) mod forces;
pub(crate) mod fringes;
pub(crate) mod hydrodynamics;
pub(crate) mod missing;
pub(crate) mod near_surface;
pub(crate) mod participation;
pub(crate) mod permittivities;
pub(crate) mod polarisability;
pub(crate) mod probes;
pub(crate) mod salt;
pub(crate) mod sensitivity;
pub(crate) mod state;
