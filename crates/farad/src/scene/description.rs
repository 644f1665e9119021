//! The description of a problem: conductors, media, charges, planes, fields, and the results that
//! are wanted. Independent of the mesh.

use mesh::mirror::Plane;

use crate::scene::requests::{Diffusion, Film, Probe, Reduction, Sensitivity};
use crate::units::{ELEMENTARY_CHARGE, LengthUnit};

options::options! {
    /// A problem: its media, what is in them, and the results that are wanted. Groups are named as
    /// the mesh's physical groups are.
    ///
    /// [`Description::default`] is a mesh in metres, in vacuum, all of whose groups (or components,
    /// without groups) are conductors.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Description {
        /// The unit of the mesh's coordinates, and of all coordinates here.
        unit: LengthUnit = LengthUnit::Metre,
        /// Relative permittivity of the surrounding medium.
        relative_permittivity: f64 = 1.0,
        /// Inverse of the screening length of ions in the surrounding medium, per unit of length; 0
        /// without ions. With ions anywhere the linearised Poisson-Boltzmann equation is solved,
        /// for charges in dielectrics alone.
        kappa: f64 = 0.0,
        /// Whether `kappa`, and that of dielectrics, is of a given ionic strength, and changes
        /// where a permittivity does.
        by_ionic_strength: bool = false,
        /// Groups whose triangles are left out.
        ignore: Vec<String> = Vec::new(),
        /// Empty = found in the mesh: its groups, or its components.
        conductors: Vec<Conductor> = Vec::new(),
        /// Bodies of other media.
        dielectrics: Vec<Dielectric> = Vec::new(),
        /// Media by what is on both sides of surfaces; only without dielectrics and charges.
        surfaces: Vec<SurfaceMedia> = Vec::new(),
        /// Planes in which everything is mirrored, no two of them parallel.
        planes: Vec<bem::Mirror> = Vec::new(),
        /// Layers without end that everything lies in; all surfaces in one of them, whose
        /// permittivity then is that of the surrounding medium.
        stack: Option<bem::Stack> = None,
        /// Point charges other than the atoms of dielectrics.
        charges: Vec<Charge> = Vec::new(),
        /// Whether bodies that go through each other, conductors that touch and media that
        /// contradict each other are notes ([`crate::Note::Allowed`]) instead of faults.
        lenient: bool = false,
        /// Uniform external field in V/m.
        field: [f64; 3] = [0.0; 3],
        /// Where potential and field are wanted.
        probes: Vec<Probe> = Vec::new(),
        /// The liquid for which a diffusion constant is wanted, if it is: that of all conductors as
        /// one body or, where there are molecules and no conductors, of all of these.
        diffusion: Option<Diffusion> = None,
        /// Whether forces and torques are wanted.
        forces: bool = false,
        /// Whether the polarisability tensor is wanted.
        polarisability: bool = false,
        /// Whether values on each triangle are wanted that nothing else needs:
        /// [`crate::State::potential`], which takes as long to evaluate on interfaces as some
        /// products of the solve, and [`crate::Solution::all_charge`].
        surface_values: bool = true,
        /// Whether error bars are wanted: [`crate::Solution::bars`], some tenths of the time of the
        /// solve.
        error_bars: bool = true,
        /// The conductors whose columns of the matrix are wanted: names, in which `*` stands for
        /// any characters. Empty = all.
        nets: Vec<String> = Vec::new(),
        /// Further matrices that are made of the capacitance matrix: [`crate::Solution::reduced`].
        reductions: Vec<Reduction> = Vec::new(),
        /// Derivatives of the capacitance matrix that are wanted: [`crate::Solution::derivatives`].
        sensitivities: Vec<Sensitivity> = Vec::new(),
        /// Films whose shares of the energy are wanted: [`crate::Solution::films`].
        films: Vec<Film> = Vec::new(),
    }
}

options::options! {
    /// Metal, all of one potential.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Conductor {
        /// Its name in results.
        name: String = String::new(),
        /// The groups of its surface.
        groups: Vec<String> = Vec::new(),
        /// Its given potential or charge; 0 V if `None`.
        setting: Option<Setting> = None,
    }
}

impl Conductor {
    /// The conductor whose surface is one group of its name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), groups: vec![name.to_owned()], setting: None }
    }

    /// Sets its potential or charge.
    pub fn with(self, setting: Setting) -> Self {
        Self { setting: Some(setting), ..self }
    }
}

/// The given potential or charge of a conductor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Volt.
    Potential(f64),
    /// Coulomb; the conductor floats.
    Charge(f64),
}

options::options! {
    /// A body of one medium.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Dielectric {
        /// Its name in results.
        name: String = String::new(),
        /// Relative permittivity.
        relative_permittivity: f64 = 0.0,
        /// Inverse screening length of ions in it, as [`Description::kappa`]; 0 without ions.
        kappa: f64 = 0.0,
        /// Whether it is a part of the surrounding medium, and has its permittivity.
        is_of_medium: bool = false,
        /// Groups of the closed surface that bounds it.
        groups: Vec<String> = Vec::new(),
        /// Atoms in it, which make it a molecule.
        atoms: Vec<Atom> = Vec::new(),
    }
}

impl Dielectric {
    /// The body whose surface is one group of its name.
    pub fn new(name: &str, relative_permittivity: f64) -> Self {
        let groups = vec![name.to_owned()];
        let (name, atoms) = (name.to_owned(), Vec::new());
        Self { name, relative_permittivity, kappa: 0.0, is_of_medium: false, groups, atoms }
    }
}

/// A charge in a molecule.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// Chain, residue, its number and atom.
    pub name: String,
    /// In the description's unit.
    pub position: [f64; 3],
    /// In elementary charges.
    pub charge: f64,
}

/// Groups and the media on their sides.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceMedia {
    /// The groups.
    pub groups: Vec<String>,
    /// Relative permittivity on the side that normals point to, and on the other.
    pub sides: [f64; 2],
}

/// A point charge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// In the description's unit.
    pub position: [f64; 3],
    /// How much.
    pub amount: Amount,
}

/// A charge with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Coulomb.
    Coulomb(f64),
    /// Elementary charges.
    Elementary(f64),
}

impl Amount {
    /// In coulomb.
    #[must_use]
    pub fn coulomb(self) -> f64 {
        match self {
            Self::Coulomb(charge) => charge,
            Self::Elementary(charge) => charge * ELEMENTARY_CHARGE,
        }
    }
}

/// "x", "y" or "z".
#[must_use]
pub fn axis_name(axis: usize) -> &'static str {
    ["x", "y", "z"].get(axis).copied().unwrap_or("?")
}

/// "the ground plane z = 0".
pub(crate) fn plane_name(mirror: &bem::Mirror) -> String {
    let kind = if mirror.odd { "ground plane" } else { "plane of symmetry" };
    format!("the {kind} {} = {}", axis_name(mirror.plane.axis), mirror.plane.at)
}

impl Description {
    /// Whether potentials, charges or a field are set, so that there is a state to solve for in
    /// addition to the capacitance matrix.
    #[must_use]
    pub fn has_state(&self) -> bool {
        self.has_sources() || self.conductors.iter().any(|c| c.setting.is_some())
    }

    /// Whether there are sources other than conductors.
    #[must_use]
    pub fn has_sources(&self) -> bool {
        self.has_charges() || self.field != [0.0; 3]
    }

    /// Whether there are point charges.
    #[must_use]
    pub fn has_charges(&self) -> bool {
        !self.charges.is_empty() || self.dielectrics.iter().any(|d| !d.atoms.is_empty())
    }

    /// Gives a dielectric, or the surrounding medium for `None`, another permittivity. Ions of a
    /// given strength screen as it lets them: kappa^2 goes with its inverse.
    pub(crate) fn set_permittivity(&mut self, dielectric: Option<usize>, value: f64) {
        let keeps = !self.by_ionic_strength;
        let set = |relative_permittivity: &mut f64, kappa: &mut f64| {
            if !keeps {
                *kappa *= (*relative_permittivity / value).sqrt();
            }
            *relative_permittivity = value;
        };
        match dielectric.and_then(|index| self.dielectrics.get_mut(index)) {
            Some(body) => set(&mut body.relative_permittivity, &mut body.kappa),
            None => {
                set(&mut self.relative_permittivity, &mut self.kappa);
                let parts = self.dielectrics.iter_mut().filter(|body| body.is_of_medium);
                parts.for_each(|body| set(&mut body.relative_permittivity, &mut body.kappa));
            }
        }
    }

    /// Whether there are ions in any medium.
    #[must_use]
    pub fn has_salt(&self) -> bool {
        self.kappa > 0.0 || self.dielectrics.iter().any(|dielectric| dielectric.kappa > 0.0)
    }

    /// Whether there are other media than the surrounding one.
    #[must_use]
    pub fn has_media(&self) -> bool {
        !(self.dielectrics.is_empty() && self.surfaces.is_empty())
    }

    /// Groups that are interfaces unless they are metal.
    pub fn interfaces(&self) -> impl Iterator<Item = &String> {
        let bounding = self.dielectrics.iter().flat_map(|dielectric| &dielectric.groups);
        bounding.chain(self.surfaces.iter().flat_map(|surface| &surface.groups))
    }

    /// Permittivity of the dielectric of this index, of the surroundings for `None`.
    pub(crate) fn permittivity_of(&self, medium: Option<u32>) -> f64 {
        medium.map_or(self.relative_permittivity, |index| {
            self.dielectrics[index as usize].relative_permittivity
        })
    }

    /// Grounded planes: those given, and those that end layers.
    pub(crate) fn grounds(&self) -> Vec<Plane> {
        let given = self.planes.iter().filter(|mirror| mirror.odd).map(|mirror| mirror.plane);
        let of_stack = self.stack.iter().flat_map(|stack| {
            let ends = [(stack.below, stack.at), (stack.above, stack.top())];
            let grounded = ends.into_iter().filter(|(beyond, _)| *beyond == bem::Beyond::Ground);
            grounded.map(|(_, at)| Plane { axis: stack.axis, at })
        });
        given.chain(of_stack).collect()
    }

    /// Points of all probes.
    #[must_use]
    pub fn probe_points(&self) -> usize {
        self.probes.iter().fold(0, |all, probe| all.saturating_add(probe.place.count()))
    }
}
