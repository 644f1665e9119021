//! Scripts for programs that show molecules: they open the atoms, the map of potentials and, where
//! the program colours any surface, that of the solve.
//!
//! These programs run what they read: PyMOL cuts even comments into commands at semicolons. So
//! nothing of a case (titles, names of molecules and atoms, of files) is in a script: it has our
//! own words, names of files that we choose, and numbers.

use std::io::{self, Write};

use mesh::Mesh;

use crate::case::{Case, Viewer, potential_map};

/// The atoms with potentials.
pub(super) const ATOMS: &str = "potential.pqr";

/// The surface for viewers.
pub(super) const STL: &str = "surface.stl";

/// Potentials in kT/e at which colours end, as is usual.
const RANGE: f64 = 5.0;

/// Margin around the spheres in PyMOL's first picture, in angstrom.
const MARGIN: f64 = 2.0;

/// Numbers of models in ChimeraX that no session has by chance.
const MODELS: [u32; 3] = [901, 902, 903];

/// The file of a viewer's script.
pub(super) fn script(viewer: Viewer) -> &'static str {
    match viewer {
        Viewer::ChimeraX => "view.cxc",
        Viewer::PyMol => "view.pml",
        Viewer::Vmd => "view_vmd.tcl",
    }
}

/// Writes a script; the files that it opens lie next to it.
pub(super) fn write(out: &mut impl Write, case: &Case, viewer: Viewer) -> io::Result<()> {
    let map = potential_map();
    match viewer {
        Viewer::ChimeraX => {
            let [atoms, potential, surface] = MODELS;
            writeln!(out, "# In ChimeraX, open this file")?;
            writeln!(out, "open {ATOMS} id {atoms}")?;
            writeln!(out, "open {map} id {potential}")?;
            writeln!(out, "volume #{potential} hide")?;
            writeln!(out, "open {STL} id {surface}")?;
            writeln!(
                out,
                "color electrostatic #{surface} map #{potential} palette {},red:0,white:{RANGE},blue",
                -RANGE
            )?;
            writeln!(out, "view #{surface}")
        }
        Viewer::PyMol => {
            writeln!(out, "# In this folder: pymol view.pml")?;
            writeln!(out, "load {ATOMS}, farad_atoms")?;
            writeln!(out, "load {map}, farad_map")?;
            // Surfaces are of van der Waals radii, which PyMOL takes from the elements.
            writeln!(out, "alter farad_atoms, vdw=elec_radius")?;
            writeln!(out, "hide everything, farad_atoms")?;
            writeln!(out, "set surface_ramp_above_mode, 1, farad_atoms")?;
            writeln!(
                out,
                "ramp_new farad_scale, farad_map, [{}, 0, {RANGE}], [red, white, blue]",
                -RANGE
            )?;
            writeln!(out, "set surface_color, farad_scale, farad_atoms")?;
            writeln!(out, "show surface, farad_atoms")?;
            // Room for the whole surface: planes that cut the picture are set by the centres alone.
            let radii = case.atoms.iter().flatten().map(|atom| atom.radius);
            let room = radii.fold(0.0, f64::max) + MARGIN;
            writeln!(out, "zoom farad_atoms, {room}, complete=1")
        }
        Viewer::Vmd => {
            writeln!(out, "# vmd -e view_vmd.tcl")?;
            writeln!(out, "set here [file dirname [file normalize [info script]]]")?;
            writeln!(out, "set farad [mol new [file join $here {ATOMS}] type pqr waitfor all]")?;
            writeln!(out, "mol addfile [file join $here {map}] type dx waitfor all $farad")?;
            writeln!(out, "mol delrep 0 $farad")?;
            writeln!(out, "mol representation Surf 1.4 0.0")?;
            writeln!(out, "mol color Volume 0")?;
            writeln!(out, "mol selection all")?;
            writeln!(out, "mol material Opaque")?;
            writeln!(out, "mol addrep $farad")?;
            writeln!(out, "mol scaleminmax $farad 0 {} {RANGE}", -RANGE)?;
            writeln!(out, "color scale method RWB")
        }
    }
}

/// Writes the triangles of `mesh` through their corners as binary STL, coordinates times `scale`.
pub(super) fn write_stl(out: &mut impl Write, mesh: &Mesh, scale: f64) -> io::Result<()> {
    let mut head = [0u8; 80];
    let words = b"surface of farad, in angstrom";
    head[..words.len()].copy_from_slice(words);
    out.write_all(&head)?;
    let count = u32::try_from(mesh.triangles.len()).unwrap_or(u32::MAX);
    out.write_all(&count.to_le_bytes())?;
    for t in 0..mesh.triangles.len() {
        // Readers take normals from the order of corners where these are zero.
        let corners = mesh.corners(t);
        for x in [0.0; 3].iter().chain(corners.as_flattened()) {
            out.write_all(&((x * scale) as f32).to_le_bytes())?;
        }
        out.write_all(&[0, 0])?;
    }
    Ok(())
}
