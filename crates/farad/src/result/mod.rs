//! Results of a problem, as plain data: matrices, states, forces, shares of energies, and the bars
//! and warnings that say how far to trust them.

pub(crate) mod bars;
pub(crate) mod body;
pub(crate) mod charges;
pub(crate) mod key;
pub(crate) mod labelled;
pub(crate) mod matrices;
pub(crate) mod participation;
pub(crate) mod quantities;
pub(crate) mod record;
pub(crate) mod reduction;
pub(crate) mod solution;
pub(crate) mod state;
pub(crate) mod unit;
pub(crate) mod warning;
