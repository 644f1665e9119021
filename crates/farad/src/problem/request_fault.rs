//! Faults of requested results: reductions, sensitivities, films.

use std::sync::Arc;

use thiserror::Error;

/// A name that a reduction lists, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The name of a group.
    Group(usize),
    /// One of its conductors.
    Member(usize, usize),
    /// In `grounded`.
    Grounded(usize),
    /// In `floating`.
    Floating(usize),
    /// In `between`.
    Between(usize),
}

/// A fault of a reduction.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ReductionFault {
    /// No net has this name, or fits this pattern.
    #[error("{} \"{name}\"", if name.contains('*') { "no net fits" } else { "there is no net" })]
    Unknown {
        /// Which.
        at: Listed,
        /// The name or the pattern.
        name: String,
        /// Names that there are.
        available: Arc<[String]>,
    },
    /// A net is listed twice.
    #[error("net \"{name}\" is listed twice")]
    Twice {
        /// The first place and the second.
        at: [Listed; 2],
        /// The net.
        name: String,
    },
    /// A group has the name of another net.
    #[error("there is a net \"{name}\" outside of the group of this name")]
    Taken {
        /// The group.
        at: Listed,
        /// Its name.
        name: String,
    },
    /// Some nets float where all others do anyway.
    #[error(
        "floating nets are listed, but all nets float that are neither grounded nor among the two"
    )]
    FloatAnyway,
    /// Nothing is left.
    #[error("no net is left: all are grounded or float")]
    Nothing,
}

/// Why there is no derivative.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SensitivityFault {
    /// Nothing to shift.
    #[error("nothing is shifted")]
    Nothing,
    /// No body of this name.
    #[error(
        "there is no conductor or dielectric \"{name}\" to shift; there is {}",
        listed(available)
    )]
    Unknown {
        /// The name.
        name: String,
        /// The existing ones.
        available: Vec<String>,
    },
    /// A body that does not lie in one medium.
    #[error(
        "\"{0}\" cannot be shifted: it lies in an interface of layers, on a grounded plane, or in more than one medium"
    )]
    Bound(String),
    /// A plane of symmetry.
    #[error("bodies cannot be shifted one by one where planes of symmetry mirror them")]
    Mirrored,
    /// No dielectric of this name.
    #[error("there is no dielectric \"{name}\"; there is {}", listed(available))]
    NoDielectric {
        /// The name.
        name: String,
        /// The existing ones.
        available: Vec<String>,
    },
    /// Media that are listed by surfaces.
    #[error("media by surfaces have no names that a permittivity could be changed by")]
    BySurfaces,
    /// An interface that carries no charge.
    #[error(
        "on both sides of a part of the surface of \"{0}\" the permittivity is the same: make it differ a little"
    )]
    Alike(String),
    /// No such layer.
    #[error(
        "there is no layer {layer} with {what}; there {}",
        match (first, last) {
            (_, 0) => "are no layers".to_owned(),
            (0, last) => format!("is 0, what is below all layers, to {last}, what is above"),
            (first, last) => format!("is {first}, the lowest, to {last}"),
        }
    )]
    NoLayer {
        /// Which.
        layer: usize,
        /// The property that it lacks.
        what: &'static str,
        /// The lowest that may have it.
        first: usize,
        /// The highest; 0: there are none.
        last: usize,
    },
    /// A layer with surfaces in the interfaces on both sides of it.
    #[error(
        "layer {0} has surfaces in the interfaces above and below: its thickness would cut through them"
    )]
    Between(usize),
    /// The layer around bodies of other media.
    #[error("layer {0} surrounds dielectrics: its permittivity cannot be changed")]
    Around(usize),
    /// No images for the changed layers.
    #[error("images of the changed layers cannot be fitted")]
    TooCoarse,
}

/// Names with commas between them, or "none".
pub(crate) fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Why there is no share of a film.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FilmFault {
    /// No surface.
    #[error("it lies on no surface")]
    Nothing,
    /// A value without meaning.
    #[error("{what} is {value}, and must be a number above 0")]
    Number {
        /// The property.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// No body of this name.
    #[error("there is no conductor or dielectric \"{name}\"; there is {}", listed(available))]
    Unknown {
        /// The name.
        name: String,
        /// The existing ones.
        available: Vec<String>,
    },
    /// No medium of this name.
    #[error("there is no dielectric \"{name}\"; there is {}", listed(available))]
    NoMedium {
        /// The name.
        name: String,
        /// The existing ones.
        available: Vec<String>,
    },
    /// No such layer.
    #[error("there is no layer {layer}; layers are counted from 0, what is below all, to {last}")]
    NoLayer {
        /// Which.
        layer: usize,
        /// The highest.
        last: usize,
    },
    /// Layers without a stack.
    #[error("there are no layers")]
    NoStack,
    /// An interface that is not there, or no metal in it.
    #[error(
        "the fields next to interface {interface} are not known: films are in an interface that metal lies in, and all metal lies in it, with a half-space on at least one side"
    )]
    NoInterface {
        /// Which.
        interface: usize,
    },
    /// Media that are listed by surfaces.
    #[error("media by surfaces have no names that a film could be next to")]
    BySurfaces,
    /// Nothing of the surfaces faces the medium.
    #[error("no part of its surfaces faces that medium")]
    Nowhere,
    /// A cutoff that leaves nothing.
    #[error("no part of it is farther than its cutoff, {0}, from an edge")]
    Within(f64),
    /// Metal without thickness.
    #[error(
        "\"{0}\" has an edge without thickness, toward which the energy in a film grows without bound: give a cutoff, such as half the metal's thickness"
    )]
    Sheet(String),
}
