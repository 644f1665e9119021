//! Files that users pass in place of a case file, and advice for each.

use std::path::Path;

/// Explains case files.
pub(super) const HELP: &str =
    "a case file is a short TOML text that names a mesh; see docs/case-file.md and cases/";

const MESH_HELP: &str = "write a case file, a short TOML text that names the mesh and its unit of length, and give that; see \
                         docs/case-file.md and cases/";

const RESULT_HELP: &str =
    "give the case file that the results are of; case.resolved.toml next to results.json is one";

/// Endings of names, what such files are, and advice.
const ENDINGS: [(&[&str], &str, &str); 7] = [
    (
        &["geo", "brep", "step", "stp", "iges", "igs"],
        "it is a geometry",
        "mesh its surfaces, by `gmsh -2` for instance, and write a case file that names the mesh; see docs/case-file.md",
    ),
    (&["msh", "vert", "face", "off", "ply", "stl"], "it is a mesh", MESH_HELP),
    (
        &["obj", "vtk", "inp", "nas", "bdf", "med", "gmsh"],
        "it looks like a mesh of a format that is not read",
        "convert it to a Gmsh mesh (.msh), OFF, PLY or STL, and write a case file that names that; see docs/case-file.md",
    ),
    (
        &["pdb", "ent", "cif", "mmcif", "xyzr", "xyz"],
        "it has a molecule's atoms without charges",
        "make a PQR file of it, by `pdb2pqr --ff=PARSE protein.pdb protein.pqr` for instance, and give that",
    ),
    (
        &["oas", "oasis"],
        "it is an OASIS layout, which is not read",
        "save it as GDSII, by KLayout for instance, and give that with its --stack; see docs/user-guide.md",
    ),
    (
        &["vtu", "pvtu", "vti", "vtp", "pvd"],
        "it is a VTK file, for looking at results",
        RESULT_HELP,
    ),
    (&["json", "csv", "npy", "npz"], "it holds data or results", RESULT_HELP),
];

/// The kind of a file by its name, if it is no case file, and advice.
pub(super) fn by_name(path: &Path) -> Option<(&'static str, &'static str)> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let known = ENDINGS.iter().find(|(endings, ..)| endings.contains(&ending.as_str()));
    known.map(|&(_, what, help)| (what, help))
}

/// The kind of a file by its first bytes, and advice.
pub(super) fn by_content(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let starts: [(&[u8], &str, &str); 9] = [
        (b"$MeshFormat", "it is a Gmsh mesh", MESH_HELP),
        (b"ply\n", "it is a PLY mesh", MESH_HELP),
        (b"ply\r", "it is a PLY mesh", MESH_HELP),
        (b"OFF\n", "it is an OFF mesh", MESH_HELP),
        (b"solid ", "it is an STL mesh", MESH_HELP),
        (b"<?xml", "it is an XML file", HELP),
        (b"<VTKFile", "it is a VTK file", RESULT_HELP),
        (b"# vtk DataFile", "it is a VTK file", RESULT_HELP),
        (b"{", "it is a JSON file", HELP),
    ];
    let known = starts.iter().find(|(start, ..)| bytes.starts_with(start));
    known.map(|&(_, what, help)| (what, help))
}
