//! `[mesh]`: the file of the surfaces and its unit.

use std::path::Path;

use farad::LengthUnit;

use crate::case::definition::Case;
use crate::paths::relative;

use super::prelude::*;

table! {
    /// `[mesh]`.
    MeshTable = "mesh";
    @written_last ["lenient", "smooth"];
    file: String = PATH, unless("required unless there is a `[[molecule]]`"),
        "the mesh: .msh (Gmsh), .vert or .face (MSMS), .off, .ply, .stl, .lst, .qui or .neu (FastCap), .pex25d or .gds \
         (layouts); see [Meshes](user-guide.md#meshes)";
    unit: LengthUnit = Spec::choice(LengthUnit::WORDS), unless("required; \"angstrom\" where a case of molecules has no `file`"),
        "unit of the mesh's coordinates, and of all others in the case";
    ignore: Names = GROUPS, or("[]"), "physical groups whose triangles are ignored";
    lenient: bool = BOOL, or("false"),
        "bodies that go through each other, conductors that touch and media that contradict each other are counted warnings \
         instead of errors; values near such places are doubtful. `--lenient` does the same";
    stack: String = PATH, or("none"),
        "the [stack file](user-guide.md#gdsii) of a GDSII layout, which needs one; `--stack` counts before it";
    smooth: f64 = Spec::number(0.0, 180.0), or("none"),
        "angle in degrees: flat triangles become curved by the normals at their vertices, those of the file where it has them \
         (MSMS, NanoShaper) and those of the triangles otherwise; edges at which they differ by more than this angle stay \
         sharp";
}

impl MeshTable {
    /// Reports what is missing where a mesh is needed, and what is only for files of meshes where
    /// there is none.
    pub(in crate::case) fn check(&self, section: &Section<'_>, needs_mesh: bool) {
        if needs_mesh {
            section.require(&["file", "unit"]);
            return;
        }
        let keys = [
            ("ignore", &self.ignore.key),
            ("stack", &self.stack.key),
            ("smooth", &self.smooth.key),
        ];
        for (key, place) in keys {
            if let Some(place) = place {
                let message = format!("{key} is of a mesh's file, and [mesh] names none");
                let defect = Defect::new(Sort::Value, place.clone(), message);
                section.report(defect.help("leave it out"));
            }
        }
    }

    /// Molecules without a mesh are in angstrom unless the case says otherwise.
    pub(in crate::case) fn unit(&self, needs_mesh: bool) -> Option<LengthUnit> {
        let is_usual = !needs_mesh && !self.unit.is_given();
        if is_usual { Some(LengthUnit::Angstrom) } else { self.unit.value }
    }

    /// The table of a case which lies in `folder`.
    pub(in crate::case) fn of(case: &Case, folder: &Path) -> Self {
        let description = &case.description;
        let path = |file: Option<&Path>| Field::from(file.map(|file| relative(folder, file)));
        Self {
            file: path(case.mesh.as_deref()),
            unit: description.unit.into(),
            ignore: case.mesh.as_ref().map(|_| Names::of(&description.ignore)).into(),
            lenient: description.lenient.then_some(true).into(),
            stack: path(case.stack.as_deref()),
            smooth: case.smooth.into(),
            ..Self::default()
        }
    }
}
