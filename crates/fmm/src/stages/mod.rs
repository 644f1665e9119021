//! The stages of a sum that make, translate and evaluate expansions, box by box.

pub(crate) mod l2l;
pub(crate) mod l2p;
pub(crate) mod m2l;
pub(crate) mod m2m;
pub(crate) mod p2m;
pub(crate) mod parent_child;
pub(crate) mod translations;
