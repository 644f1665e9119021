//! Contradictions in a description, and parts without meaning, whatever its mesh is.

use crate::analysis::list;
use crate::problem::fault::Fault;
use crate::problem::layers;
use crate::scene::description::{Description, Setting, axis_name};

impl Description {
    /// Contradictions and meaningless values that can be found without the mesh.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = self.numbers_out_of_range();
        faults.extend(layers::faults(self));
        for (k, mirror) in self.planes.iter().enumerate() {
            let axis = mirror.plane.axis;
            if let Some(first) = self.planes[..k].iter().position(|m| m.plane.axis == axis) {
                faults.push(Fault::ParallelPlanes { planes: [first, k], axis: axis_name(axis) });
            }
        }
        if !self.surfaces.is_empty() && !self.dielectrics.is_empty() {
            faults.push(Fault::MediaTwice);
        } else if !self.surfaces.is_empty() && !self.charges.is_empty() {
            faults.push(Fault::NoMediumOfCharge);
        }
        let requested = || list::requested(self);
        faults.extend(requested().flat_map(|analysis| analysis.faults(self)));
        if self.has_salt() {
            faults.extend(self.impossible_with_salt().map(|what| Fault::Salt { what }));
        }
        if !self.nets.is_empty() {
            let needs = requested().filter_map(|analysis| analysis.name_with_all_nets());
            faults.extend(needs.map(|what| Fault::NeedsAllNets { what }));
        }
        faults
    }

    /// Parts of the description that exclude ions.
    fn impossible_with_salt(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (!self.conductors.is_empty(), "conductors"),
            (!self.surfaces.is_empty(), "media by [[surface]]"),
            (!self.planes.is_empty(), "planes"),
            (self.stack.is_some(), "layers without end"),
            (self.field != [0.0; 3], "an external field"),
        ];
        let things = all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, what)| what);
        let requested = list::requested(self);
        things.chain(requested.filter_map(|analysis| analysis.name_without_ions()))
    }

    fn numbers_out_of_range(&self) -> Vec<Fault> {
        let own = self.dielectrics.iter().map(|d| d.relative_permittivity);
        let media = [self.relative_permittivity].into_iter().chain(own);
        let media = media.chain(self.surfaces.iter().flat_map(|surface| surface.sides));
        let liquid = self.diffusion.iter().flat_map(|d| [d.temperature, d.viscosity]);
        let is_positive = |x: f64| x > 0.0 && x.is_finite();
        let positive = media
            .map(|x| ("a relative permittivity", x))
            .chain(liquid.map(|x| ("the temperature or viscosity of the liquid", x)))
            .filter(|(_, x)| !is_positive(*x))
            .map(|(what, value)| Fault::Number { what, value, possible: "a number above 0" });
        let charges = self.charges.iter().map(|charge| (charge.position, charge.amount.coulomb()));
        let atoms = self.dielectrics.iter().flat_map(|dielectric| &dielectric.atoms);
        let charges = charges.chain(atoms.map(|atom| (atom.position, atom.charge)));
        let settings = self.conductors.iter().filter_map(|conductor| conductor.setting);
        let settings = settings.map(|(Setting::Potential(x) | Setting::Charge(x))| x);
        let finite = charges
            .flat_map(|([x, y, z], q)| [x, y, z, q])
            .map(|x| ("a point charge or a coordinate of one", x))
            .chain(settings.map(|x| ("the potential or charge of a conductor", x)))
            .chain(self.planes.iter().map(|mirror| ("the place of a plane", mirror.plane.at)))
            .chain(self.field.map(|x| ("a component of the external field", x)))
            .filter(|(_, x)| !x.is_finite())
            .map(|(what, value)| Fault::Number { what, value, possible: "a finite number" });
        let axes = self.planes.iter().map(|mirror| mirror.plane.axis).filter(|axis| *axis > 2);
        let axes = axes.map(|axis| Fault::Number {
            what: "the axis of a plane",
            value: axis as f64,
            possible: "0, 1 or 2",
        });
        let salt = [self.kappa].into_iter().chain(self.dielectrics.iter().map(|d| d.kappa));
        let salt = salt.filter(|x| !(*x >= 0.0 && x.is_finite())).map(|value| Fault::Number {
            what: "the inverse of a screening length",
            value,
            possible: "0 or more",
        });
        positive.chain(finite).chain(axes).chain(salt).collect()
    }
}
