//! The state that potentials, charges and field lead to, in SI units except for lengths.

use serde::Serialize;

/// The state that the given potentials, charges and field lead to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State {
    /// All conductors.
    pub conductors: Vec<ConductorState>,
    /// `None` without point charges.
    pub solvation: Option<Solvation>,
    /// All charge of each triangle, free and bound, in coulomb.
    pub charge: Vec<f64>,
    /// Free charge of each triangle in coulomb.
    pub free_charge: Vec<f64>,
    /// Potential of each triangle in volt, NaN where there is neither conductor nor interface;
    /// `None` unless wanted.
    pub potential: Option<Vec<f64>>,
    /// Values at each of the description's probes.
    pub probes: Vec<Probed>,
    /// `None` unless wanted.
    pub forces: Option<Vec<Force>>,
    /// `None` where anything but the bodies themselves acts on them.
    pub balance: Option<Balance>,
}

/// One conductor in a state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConductorState {
    /// Its name.
    #[serde(rename = "conductor")]
    pub name: String,
    /// Volt.
    pub potential_v: f64,
    /// Free charge in coulomb.
    pub charge_c: f64,
    /// Whether its charge is given, not its potential.
    pub floating: bool,
    /// Bar of the potential, 0 where that is given; `None` unless wanted, like all bars.
    pub potential_error_v: Option<f64>,
    /// Bar of the charge, 0 where that is given.
    pub charge_error_c: Option<f64>,
}

/// The effect of the surfaces on the point charges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Solvation {
    /// Potential of all surface charge at each point charge, in volt.
    pub reaction_v: Vec<f64>,
    /// Potential of the other point charges at each, in volt.
    pub coulomb_v: Vec<f64>,
    /// Energies of all charges together.
    pub energies: Energies,
    /// Bar of the energy that surfaces add.
    pub reaction_error_j: Option<f64>,
    /// Each molecule's part.
    pub molecules: Vec<Molecule>,
}

/// Parts of the electrostatic energy of point charges, without that of each charge in its own
/// field, in joule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Energies {
    /// Half the charges times the potentials of the other charges, each over the permittivity of
    /// its own medium.
    pub coulomb_j: f64,
    /// Half the charges times the potentials of all surface charge, that on grounded planes
    /// included: the solvation energy.
    pub reaction_j: f64,
}

impl Energies {
    /// Both together.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.coulomb_j + self.reaction_j
    }
}

/// A dielectric with atoms in it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Molecule {
    /// Its name.
    pub name: String,
    /// How many atoms.
    pub atoms: usize,
    /// Net charge in elementary charges.
    pub charge_e: f64,
    /// Its atoms' part of the energies.
    pub energies: Energies,
    /// Least distance of an atom from a surface, in the problem's unit.
    pub least_distance: Option<f64>,
}

/// Values of one probe, in SI units.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Probed {
    /// The name of the [`Probe`](crate::Probe).
    pub name: String,
    /// In the problem's unit.
    pub points: Vec<[f64; 3]>,
    /// Volt.
    pub potential: Vec<f64>,
    /// Volt a metre.
    pub field: Vec<[f64; 3]>,
    /// Bars at each point.
    pub bars: Option<ProbeBars>,
}

/// Bars at the points of one probe.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProbeBars {
    /// Volt.
    pub potential_v: Vec<f64>,
    /// Bar of the field in any direction, volt per metre.
    pub field_v_per_m: Vec<f64>,
}

/// Force and torque on one body.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Force {
    /// Name of the body.
    #[serde(rename = "body")]
    pub name: String,
    /// The force.
    #[serde(rename = "force_n")]
    pub newton: [f64; 3],
    /// The torque.
    #[serde(rename = "torque_nm")]
    pub newton_metre: [f64; 3],
    /// Bar of the force in any direction.
    #[serde(rename = "force_error_n")]
    pub newton_error: Option<f64>,
    /// Bar of the torque about any axis.
    #[serde(rename = "torque_error_nm")]
    pub newton_metre_error: Option<f64>,
    /// Estimated error of the force that does not come from the mesh, in newton.
    #[serde(rename = "known_to_n")]
    pub known_to: f64,
    /// Sum of the sizes of the forces on its triangles and charges, in newton.
    #[serde(skip)]
    pub on_parts: f64,
    /// The point that the torque is about, in the mesh's unit.
    pub about: [f64; 3],
}

/// Violation of action = reaction: the sums of forces and of torques of a system on which nothing
/// else acts, which are 0 in theory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Size of the sum of all forces, over the sum of their sizes.
    pub force: f64,
    /// Size of the sum of all torques about the middle of everything, over that sum times the
    /// largest distance from there.
    pub torque: f64,
}
