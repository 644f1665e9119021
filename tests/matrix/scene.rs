//! A case: a mesh, its materials, and the requested results.

use std::fmt::Write as _;
use std::path::Path;

use super::vector::{Point, add, sub};

/// What is on one side of a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    Surroundings,
    Dielectric(usize),
    Metal(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    None,
    Potential(f64),
    Charge(f64),
}

#[derive(Clone, Debug)]
pub struct Conductor {
    pub name: String,
    pub patches: Vec<usize>,
    pub setting: Setting,
}

#[derive(Clone, Debug)]
pub struct Dielectric {
    pub name: String,
    pub permittivity: f64,
    pub patches: Vec<usize>,
    /// Its patches that it need not list: geometry shows what lies inside.
    pub optional: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    pub axis: usize,
    pub at: f64,
    pub ground: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Charge {
    pub position: Point,
    pub coulomb: f64,
    /// Of the medium around it.
    pub permittivity: f64,
}

/// Ions of one temperature.
#[derive(Clone, Debug)]
pub struct Ions {
    /// Inverse screening length around all bodies and in each dielectric, per unit of the mesh's
    /// coordinates.
    pub kappa: Vec<f64>,
    /// Whether they are given by their strength.
    pub by_strength: bool,
}

/// Kelvin.
const TEMPERATURE: f64 = 298.15;

/// Ionic strength in mol/l for an inverse screening length in 1/m: kappa^2 = 2 e^2 N_A I / (eps
/// kT).
fn strength(kappa: f64, permittivity: f64) -> f64 {
    let thermal = 1.380_649e-23 * TEMPERATURE;
    let of_charges = 2e3 * 6.022_140_76e23 * 1.602_176_634e-19f64.powi(2);
    kappa * kappa * 8.854_187_818_8e-12 * permittivity * thermal / of_charges
}

#[derive(Clone, Debug)]
pub struct Scene {
    pub vertices: Vec<Point>,
    pub triangles: Vec<[u32; 3]>,
    /// The patch of each triangle.
    pub patch_of: Vec<usize>,
    pub patches: usize,
    /// Relative permittivity on the side that each patch's normals point to, and behind it; inside
    /// of metal that of its other side.
    pub sides: Vec<[f64; 2]>,
    /// Whether media are given by these, in place of dielectrics.
    pub by_sides: bool,
    pub surroundings: f64,
    pub ions: Option<Ions>,
    pub conductors: Vec<Conductor>,
    pub dielectrics: Vec<Dielectric>,
    pub charges: Vec<Charge>,
    pub field: Point,
    pub planes: Vec<Plane>,
    pub probes: Vec<Point>,
    pub forces: bool,
    pub polarisability: bool,
    pub tolerance: f64,
    pub density: &'static str,
    /// Name of the mesh's unit and its metres.
    pub unit: (&'static str, f64),
    /// Whether dielectrics list all of their patches.
    pub lists_all: bool,
}

pub const AXES: [&str; 3] = ["x", "y", "z"];

impl Scene {
    pub fn corners(&self, t: usize) -> [Point; 3] {
        self.triangles[t].map(|v| self.vertices[v as usize])
    }

    /// Lower and upper corner of the bounding box.
    pub fn bounds(&self) -> [Point; 2] {
        let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        for x in &self.vertices {
            bounds[0] = std::array::from_fn(|k| bounds[0][k].min(x[k]));
            bounds[1] = std::array::from_fn(|k| bounds[1][k].max(x[k]));
        }
        bounds
    }

    /// Longest side of the bounding box, in the mesh's unit.
    pub fn size(&self) -> f64 {
        let [low, high] = self.bounds();
        sub(high, low).into_iter().fold(0.0, f64::max)
    }

    /// Whether any triangle of these patches reaches the plane.
    pub fn touches(&self, patches: &[usize], plane: Plane) -> bool {
        (0..self.triangles.len())
            .filter(|&t| patches.contains(&self.patch_of[t]))
            .any(|t| self.corners(t).iter().any(|x| x[plane.axis] == plane.at))
    }

    /// The same elsewhere; a field's potential is 0 at the origin, so potentials are those of the
    /// new place.
    pub fn moved(&mut self, by: Point) {
        self.map(|x| add(x, by));
        for plane in &mut self.planes {
            plane.at += by[plane.axis];
        }
    }

    /// Takes every point to another place, except those of planes.
    pub fn map(&mut self, place: impl Fn(Point) -> Point) {
        let charges = self.charges.iter_mut().map(|charge| &mut charge.position);
        self.vertices
            .iter_mut()
            .chain(charges)
            .chain(&mut self.probes)
            .for_each(|x| *x = place(*x));
    }

    /// Its mesh as MSH 2.2.
    pub fn mesh(&self) -> String {
        let mut text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n".to_owned();
        writeln!(text, "{}", self.patches).unwrap();
        (0..self.patches).for_each(|p| writeln!(text, "2 {} \"p{p}\"", p + 1).unwrap());
        writeln!(text, "$EndPhysicalNames\n$Nodes\n{}", self.vertices.len()).unwrap();
        for (index, [x, y, z]) in self.vertices.iter().enumerate() {
            writeln!(text, "{} {x:e} {y:e} {z:e}", index + 1).unwrap();
        }
        writeln!(text, "$EndNodes\n$Elements\n{}", self.triangles.len()).unwrap();
        for (index, ([a, b, c], patch)) in self.triangles.iter().zip(&self.patch_of).enumerate() {
            let tag = patch + 1;
            writeln!(text, "{} 2 2 {tag} {tag} {} {} {}", index + 1, a + 1, b + 1, c + 1).unwrap();
        }
        text + "$EndElements\n"
    }

    /// The key of ions in a medium, empty without them.
    fn ions_of(&self, medium: usize, permittivity: f64) -> String {
        let Some(ions) = &self.ions else { return String::new() };
        let kappa = ions.kappa[medium];
        if ions.by_strength {
            let strength = strength(kappa / self.unit.1, permittivity);
            format!("ionic_strength = {strength:e}\n")
        } else {
            format!("kappa = {kappa:e}\n")
        }
    }

    /// Its case file; names of files begin with `name`.
    pub fn case(&self, name: &str) -> String {
        let mut text = format!(
            "format = 1\n[mesh]\nfile = \"{name}.msh\"\nunit = \"{}\"\n[medium]\nrelative_permittivity = {:e}\n",
            self.unit.0, self.surroundings
        );
        let groups = |patches: &[usize]| {
            let names: Vec<String> = patches.iter().map(|p| format!("\"p{p}\"")).collect();
            format!("[{}]", names.join(", "))
        };
        if self.ions.as_ref().is_some_and(|ions| ions.by_strength) {
            writeln!(text, "temperature = {TEMPERATURE}").unwrap();
        }
        text += &self.ions_of(0, self.surroundings);
        for conductor in &self.conductors {
            let Conductor { name, patches, setting } = conductor;
            writeln!(text, "[[conductor]]\nname = \"{name}\"\ngroup = {}", groups(patches))
                .unwrap();
            match setting {
                Setting::None => {}
                Setting::Potential(volt) => writeln!(text, "potential = {volt:e}").unwrap(),
                Setting::Charge(coulomb) => writeln!(text, "charge = {coulomb:e}").unwrap(),
            }
        }
        for (patch, [front, back]) in self.sides.iter().enumerate().filter(|_| self.by_sides) {
            let group = groups(&[patch]);
            writeln!(text, "[[surface]]\ngroup = {group}\nfront = {front:e}\nback = {back:e}")
                .unwrap();
        }
        for (k, dielectric) in self.dielectrics.iter().enumerate().filter(|_| !self.by_sides) {
            let Dielectric { name, permittivity, patches, optional } = dielectric;
            let is_listed = |p: &&usize| self.lists_all || !optional.contains(*p);
            let listed: Vec<usize> = patches.iter().filter(is_listed).copied().collect();
            writeln!(
                text,
                "[[dielectric]]\nname = \"{name}\"\nrelative_permittivity = {permittivity:e}\ngroup = {}",
                groups(&listed)
            )
            .unwrap();
            text += &self.ions_of(k + 1, *permittivity);
        }
        for Charge { position: [x, y, z], coulomb, .. } in &self.charges {
            writeln!(text, "[[charge]]\nposition = [{x:e}, {y:e}, {z:e}]\ncharge = {coulomb:e}")
                .unwrap();
        }
        if self.field != [0.0; 3] {
            let [x, y, z] = self.field;
            writeln!(text, "[external]\nfield = [{x:e}, {y:e}, {z:e}]").unwrap();
        }
        for Plane { axis, at, ground } in &self.planes {
            let kind = if *ground { "ground" } else { "symmetric" };
            let axis = AXES[*axis];
            writeln!(text, "[[plane]]\naxis = \"{axis}\"\nat = {at:e}\nkind = \"{kind}\"").unwrap();
        }
        if !self.probes.is_empty() {
            writeln!(text, "[[probe]]\nname = \"p\"\nfile = \"{name}.csv\"").unwrap();
        }
        writeln!(text, "[solver]\ntolerance = {:e}", self.tolerance).unwrap();
        writeln!(text, "density = \"{}\"", self.density).unwrap();
        writeln!(text, "[output]\nvtk = \"none\"\nforces = {}", self.forces).unwrap();
        writeln!(text, "polarisability = {}", self.polarisability).unwrap();
        text
    }

    /// Writes NAME.toml, NAME.msh and NAME.csv.
    pub fn write(&self, folder: &Path, name: &str) {
        std::fs::write(folder.join(format!("{name}.msh")), self.mesh()).unwrap();
        std::fs::write(folder.join(format!("{name}.toml")), self.case(name)).unwrap();
        if !self.probes.is_empty() {
            let row = |[x, y, z]: &Point| format!("{x:e},{y:e},{z:e}\n");
            let rows: String = self.probes.iter().map(row).collect();
            std::fs::write(folder.join(format!("{name}.csv")), rows).unwrap();
        }
    }
}
