//! Faults of a problem, and notes about it.

use mesh::{InvalidMesh, check, conductors, refine, regions};
use thiserror::Error;

use crate::problem::place_fault::{ChargeFault, Misplaced, PlaneFault, StackFault};
use crate::problem::request_fault::{FilmFault, ReductionFault, SensitivityFault};
use crate::units::{count, shortest};

/// Why a problem cannot be set up or solved.
#[derive(Debug, Error)]
pub enum Error {
    /// The description contradicts itself or the mesh.
    #[error("{}", lines(.0))]
    Faults(Vec<Fault>),
    /// The solve failed.
    #[error(transparent)]
    Solve(#[from] bem::Error),
    /// An accuracy that cannot be reached, or of nothing that is computed.
    #[error("{0}")]
    Accuracy(String),
    /// Ranks that were to share a solve with ions.
    #[error("a solve with ions has one excitation, which several processes cannot share")]
    Ions,
    /// Values at the points of all probes do not fit into memory.
    #[error(
        "values at {points} points of probes need {needed} bytes, more than the {available} available; ask for fewer points"
    )]
    Probes {
        /// How many points.
        points: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        available: u64,
    },
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}

/// A fault of a description, or of the mesh for it. Indices are those of the description.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Fault {
    /// A number out of range.
    #[error("{what} is {value}; it must be {possible}")]
    Number {
        /// Which one.
        what: &'static str,
        /// The given value.
        value: f64,
        /// Allowed values.
        possible: &'static str,
    },
    /// Two planes of one axis, which would have infinitely many images.
    #[error("two planes are perpendicular to {axis}")]
    ParallelPlanes {
        /// The two.
        planes: [usize; 2],
        /// x, y or z.
        axis: &'static str,
    },
    /// A fault of layers.
    #[error("{problem} (heights along {axis})")]
    Stack {
        /// x, y or z, which the layers are perpendicular to.
        axis: &'static str,
        /// The fault.
        problem: StackFault,
    },
    /// Ions, and what there can be none with.
    #[error(
        "ions in a medium (kappa, ionic_strength) are for charges in dielectrics, without {what}"
    )]
    Salt {
        /// Words for it.
        what: &'static str,
    },
    /// Dielectrics and surfaces both give media.
    #[error("media are given by dielectrics and by surfaces")]
    MediaTwice,
    /// Charges where media are given by surfaces.
    #[error("media given by surfaces do not say in which of them a charge lies: give dielectrics")]
    NoMediumOfCharge,
    /// Probes without a state.
    #[error("there is nothing to probe: no potential, no charge and no field is given")]
    NothingToProbe,
    /// A diffusing body with dielectrics.
    #[error(
        "diffusion applies to a single conducting body: dielectrics do not determine its capacity"
    )]
    DiffusionOfMedia,
    /// No conductor, no source.
    #[error("there is nothing to solve: no conductor, no charge and no field is given")]
    NothingToSolve,
    /// A mesh that is none.
    #[error(transparent)]
    Mesh(#[from] InvalidMesh),
    /// Triangles that make a solve meaningless.
    #[error("the mesh cannot be solved on:\n{0}")]
    Defects(check::Defects),
    /// Triangles of no conductor or of several; groups that do not exist.
    #[error(transparent)]
    Conductors(#[from] conductors::Error),
    /// A group of a dielectric or a surface that the mesh does not have.
    #[error("the mesh has no physical group \"{group}\"")]
    UnknownGroup {
        /// Which of [`Description::interfaces`](crate::Description::interfaces).
        interface: usize,
        /// Its name.
        group: String,
        /// Those that there are.
        available: std::sync::Arc<[String]>,
    },
    /// Surfaces that go through each other.
    #[error(
        "{what} go through each other: {} (first: {} and {}){}",
        counted_pairs(*pairs), of_body(&first[0]), of_body(&first[1]),
        if *only_curved { "; the curved triangles do, the flat ones with the same corners are apart" } else { "" }
    )]
    Crossing {
        /// "conductors", "bodies" or "parts of one body's surface".
        what: &'static str,
        /// Pairs of triangles.
        pairs: usize,
        /// The first pair: triangles and their bodies.
        first: [(u32, String); 2],
        /// Whether the flat triangles with the same corners would not.
        only_curved: bool,
    },
    /// Conductors that touch along a line: their mutual capacitance has no bound.
    #[error(
        "the conductors {} touch along a line or an area, {}: their mutual capacitance has no bound, and what is computed grows \
         with refinement", .0.names(), .0.place()
    )]
    Touching(Touching),
    /// Too many triangles would be needed next to the point charges.
    #[error("next to the point charges: {0}")]
    TooFine(refine::Error),
    /// A fault of a plane.
    #[error("{}", problem.of(name))]
    Plane {
        /// The plane.
        plane: usize,
        /// Its name, such as "the ground plane z = 0".
        name: String,
        /// The fault.
        problem: PlaneFault,
    },
    /// A fault in the place of a charge.
    #[error("the charge {problem}")]
    Charge {
        /// The charge.
        charge: usize,
        /// The fault.
        problem: ChargeFault,
    },
    /// Atoms where they cannot be.
    #[error("{} {} \"{name}\"", if atoms.len() == 1 { "1 atom lies".to_owned() } else { format!("{} atoms lie", count(atoms.len() as u64)) }, why.words())]
    Atoms {
        /// The dielectric that they are listed in.
        dielectric: usize,
        /// Its name.
        name: String,
        /// Which of its atoms.
        atoms: Vec<usize>,
        /// The fault in their places.
        why: Misplaced,
    },
    /// Something that needs the whole matrix, where only some of its columns are wanted.
    #[error("{what} needs the whole matrix, not the columns of chosen nets alone")]
    NeedsAllNets {
        /// The request.
        what: &'static str,
    },
    /// A chosen net that no conductor is called, or fits.
    #[error("{} \"{name}\"", if name.contains('*') { "no conductor fits" } else { "there is no conductor" })]
    UnknownNet {
        /// Which of the description's nets.
        net: usize,
        /// Its name.
        name: String,
        /// The conductors that there are.
        available: std::sync::Arc<[String]>,
    },
    /// A fault of a reduction.
    #[error("in the reduction \"{name}\", {problem}")]
    Reduction {
        /// The reduction.
        reduction: usize,
        /// Its name.
        name: String,
        /// The fault.
        problem: ReductionFault,
    },
    /// A fault of a requested derivative.
    #[error("in the sensitivity \"{name}\": {problem}")]
    Sensitivity {
        /// Which.
        sensitivity: usize,
        /// Its name.
        name: String,
        /// The fault.
        problem: SensitivityFault,
    },
    /// A fault of a film whose share of the energy is requested.
    #[error("in the film \"{name}\": {problem}")]
    Film {
        /// Which.
        film: usize,
        /// Its name.
        name: String,
        /// The fault.
        problem: FilmFault,
    },
    /// A surface that bounds nothing.
    #[error("the surface of dielectric \"{name}\" bounds no space: {problem}")]
    NoSpace {
        /// The dielectric.
        dielectric: usize,
        /// Its name.
        name: String,
        /// Why.
        problem: regions::Error,
    },
    /// Two dielectrics with one surface.
    #[error(
        "dielectrics \"{}\" and \"{}\" fill the same space with different media: eps_r {} and eps_r {}",
        names[0], names[1], shortest(permittivities[0]), shortest(permittivities[1])
    )]
    SameSpace {
        /// The two.
        dielectrics: [usize; 2],
        /// Their names.
        names: [String; 2],
        /// Their permittivities.
        permittivities: [f64; 2],
    },
    /// Media that surfaces give and that contradict each other.
    #[error(
        "media contradict each other where {} and {} {}, at ({}, {}, {}){}",
        sides(&triangles[0]), sides(&triangles[1]), if *meet { "meet" } else { "face each other" }, place[0], place[1], place[2],
        if *count > 1 { format!(", the first of {} such places", self::count(*count as u64)) } else { String::new() }
    )]
    Contradiction {
        /// Two triangles, a group of each and the permittivity in front of it and behind.
        triangles: [(usize, String, [f64; 2]); 2],
        /// The first of the surfaces that they are of; `None` if they are of none.
        surface: Option<usize>,
        /// Whether they share an edge; otherwise there is nothing but space between them.
        meet: bool,
        /// Where, in the description's unit.
        place: [f64; 3],
        /// How many edges there are at which media do, or 1.
        count: usize,
    },
}

impl Fault {
    /// The triangles that it names as examples.
    #[must_use]
    pub fn triangles(&self) -> Vec<usize> {
        match self {
            Self::Crossing { first, .. } => first.iter().map(|(t, _)| *t as usize).collect(),
            Self::Touching(touching) => touching.first.iter().map(|(t, _)| *t as usize).collect(),
            Self::Contradiction { triangles, .. } => triangles.iter().map(|(t, ..)| *t).collect(),
            _ => Vec::new(),
        }
    }
}

fn counted_pairs(pairs: usize) -> String {
    match pairs {
        1 => "1 pair of triangles".to_owned(),
        pairs => format!("{} pairs of triangles", count(pairs as u64)),
    }
}

fn of_body((triangle, body): &(u32, String)) -> String {
    format!("triangle {triangle} of \"{body}\"")
}

fn sides((triangle, group, [front, back]): &(usize, String, [f64; 2])) -> String {
    let (front, back) = (shortest(*front), shortest(*back));
    format!("triangle {triangle} of \"{group}\" (front {front}, back {back})")
}

/// Conductors that touch.
#[derive(Clone, Debug, PartialEq)]
pub struct Touching {
    /// Two triangles that do, and their conductors.
    pub first: [(u32, String); 2],
    /// Where, in the description's unit.
    pub at: [f64; 3],
    /// Name of that unit.
    pub unit: &'static str,
    /// Pairs of conductors that touch so.
    pub pairs: usize,
}

impl Touching {
    fn names(&self) -> String {
        let [a, b] = self.first.each_ref().map(|(t, name)| format!("\"{name}\" (triangle {t})"));
        format!("{a} and {b}")
    }

    fn place(&self) -> String {
        let ([x, y, z], unit) = (self.at, self.unit);
        let others = match self.pairs {
            0 | 1 => String::new(),
            pairs => format!(", and so do {} more pairs of conductors", count(pairs as u64 - 1)),
        };
        format!("at ({x}, {y}, {z}) {unit}{others}")
    }
}

/// Something about the surfaces of a problem that is no fault but should be known.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Note {
    /// The surface of a dielectric intersects itself, as molecular surfaces sometimes do.
    #[error(
        "the surface of \"{dielectric}\" goes through itself: {} (first: {} and {}); values near them are doubtful",
        counted_pairs(*pairs), first[0], first[1]
    )]
    ThroughItself {
        /// Name of the dielectric.
        dielectric: String,
        /// Pairs of triangles.
        pairs: usize,
        /// The first pair.
        first: [u32; 2],
    },
    /// A fault of the surfaces that the description allows.
    #[error("{0}; values near such places are doubtful")]
    Allowed(Fault),
    /// Conductors touch at points.
    #[error(
        "the conductors {} touch at a point, {}; their mutual capacitance converges slowly", .0.names(), .0.place()
    )]
    Touching(Touching),
    /// Conductors are of more pieces than they have groups: one net, or a mistake in the mesh.
    #[error("{0}, which share no edges; each conductor is one net, at one potential")]
    Separate(String),
    /// Coordinates are so large compared with triangles that rounding moves vertices by a share of
    /// a side that counts.
    #[error(
        "triangle {triangle} is so far from the origin that the {} digits of coordinates give its vertices only to {share:.0e} of its \
        longest side: results may have errors of this size; move the mesh toward the origin before its coordinates are written",
        f64::DIGITS + 1
    )]
    Rounded {
        /// Index of the triangle that is moved most.
        triangle: u32,
        /// Rounding of its largest coordinate over its longest side.
        share: f64,
    },
    /// Charges within a closed surface of metal, which may be solid.
    #[error(
        "{} ({}, {}, {}) {unit}{} within the closed surface of \"{conductor}\", which is taken as the wall of a cavity; in solid metal \
         there is no charge: remove or move it if the metal is solid",
        match charges { 1 => "the charge at".to_owned(), n => format!("{} charges, the first of them at", count(*n as u64)) },
        first[0], first[1], first[2], if *charges == 1 { " lies" } else { ", lie" }
    )]
    InMetal {
        /// Name of the conductor.
        conductor: String,
        /// How many charges.
        charges: usize,
        /// Where the first of them is.
        first: [f64; 3],
        /// Name of the unit.
        unit: &'static str,
    },
    /// Triangles were split next to point charges.
    #[error(
        "triangles were split next to point charges that are closer to them than half a side: {} more triangles",
        count(*added as u64)
    )]
    Split {
        /// How many triangles more there are.
        added: usize,
    },
    /// Triangles were split next to other surfaces.
    #[error(
        "triangles were split that are many times as large as their distance from another surface: {} more triangles; the charge induced on them is narrower than they are",
        count(*added as u64)
    )]
    SplitNextToSurfaces {
        /// How many triangles more there are.
        added: usize,
    },
}

impl Note {
    /// Whether it is of triangles that were added.
    pub(crate) fn is_of_splitting(&self) -> bool {
        matches!(self, Self::Split { .. } | Self::SplitNextToSurfaces { .. })
    }
}
