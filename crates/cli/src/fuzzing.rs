//! Everything that reads what users bring, in one form: what the fuzz target in `fuzz/` calls, and
//! the test that replays its corpora. No interface.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use mesh::files::Format;
use mesh::{Mesh, gmsh};

use crate::case::{Case, Overrides};
use crate::commands::fmm::npy;
use crate::report::page;

/// Reads bytes; a fault of theirs is no failure, a panic is.
pub type Reader = fn(&[u8]);

/// All readers, by the names of their corpora.
pub const READERS: [(&str, Reader); 13] = [
    ("case", |bytes| in_file("case.toml", bytes, |path| Case::load(path, &Overrides::default()))),
    ("fastcap", |bytes| drop(mesh::fastcap::parse(bytes))),
    ("gds", |bytes| {
        let load = |path: &Path| {
            let [layout, stack] = parts(bytes);
            Ok(if path.extension().is_some_and(|own| own == "gds") { layout } else { stack }.into())
        };
        drop(formats::layout::gds::read(Path::new("a.gds"), Path::new("a.toml"), true, load));
    }),
    ("gmsh", |bytes| {
        if let Ok((mesh, _)) = gmsh::parse(bytes) {
            check(&mesh);
        }
    }),
    ("list", |bytes| {
        let load = |path: &Path| {
            let [list, panels] = parts(bytes);
            Ok(if path.extension().is_some_and(|own| own == "lst") { list } else { panels }.into())
        };
        drop(formats::fastcap::read_lenient(Path::new("a.lst"), load));
    }),
    ("msms", |bytes| {
        let [vert, face] = parts(bytes);
        if let Ok((mesh, _)) = mesh::files::parse_msms(vert, face) {
            check(&mesh);
        }
    }),
    ("npy", |bytes| in_file("array.npy", bytes, npy::read)),
    ("off", |bytes| surface(Format::Off, bytes)),
    ("page", |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            drop(page::make(Path::new("."), text));
        }
    }),
    ("pex25d", |bytes| {
        let load = |_: &Path| Ok(bytes.to_vec());
        drop(formats::layout::pex25d::read(Path::new("a.pex25d"), true, load));
    }),
    ("ply", |bytes| surface(Format::Ply, bytes)),
    ("pqr", |bytes| drop(formats::pqr::parse(bytes))),
    ("stl", |bytes| surface(Format::Stl, bytes)),
];

fn surface(format: Format, bytes: &[u8]) {
    if let Some(Ok((mesh, _))) = mesh::files::parse(format, bytes) {
        check(&mesh);
    }
}

/// Checks the invariants of every mesh that was read: corners that exist, at finite places.
fn check(mesh: &Mesh) {
    let vertices = mesh.vertices.len();
    assert!(mesh.triangles.as_flattened().iter().all(|&v| (v as usize) < vertices));
    assert!(mesh.vertices.as_flattened().iter().all(|x| x.is_finite()));
}

/// Two files in one: before and after the first line that is `%%` alone.
fn parts(bytes: &[u8]) -> [&[u8]; 2] {
    const MARK: &[u8] = b"\n%%\n";
    match bytes.windows(MARK.len()).position(|window| window == MARK) {
        Some(at) => [&bytes[..=at], &bytes[at + MARK.len()..]],
        None => [bytes, &[]],
    }
}

/// Reads bytes from a file, in a folder of this process.
fn in_file<T, E: Debug>(name: &str, bytes: &[u8], read: impl Fn(&Path) -> Result<T, E>) {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = base.join(format!("farad-fuzzing-{}", std::process::id()));
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(name), bytes));
    if written.is_ok() {
        drop(read(&folder.join(name)));
    }
    // A file that stays is in nobody's way.
    let _ = std::fs::remove_dir_all(folder);
}
