//! Results that follow from the charges that solve a problem, a module for each, and how far to
//! trust them. Each result is an [`interface::Analysis`] in the [`list`].

pub(crate) mod bars;
pub(crate) mod checks;
pub(crate) mod energy;
pub(crate) mod excitations;
pub(crate) mod films;
pub(crate) mod forces;
pub(crate) mod fringes;
pub(crate) mod hydrodynamics;
pub(crate) mod interface;
pub(crate) mod list;
pub(crate) mod missing;
pub(crate) mod near_surface;
pub(crate) mod permittivities;
pub(crate) mod polarisability;
pub(crate) mod probe_bars;
pub(crate) mod probes;
pub(crate) mod reduction;
pub(crate) mod salt;
pub(crate) mod sensitivity;
pub(crate) mod state;
