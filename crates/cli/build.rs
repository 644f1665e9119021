//! Gives the program the commit that it is built from, for `--version` and results: by the files of
//! git, so that nothing is started and nothing else is rebuilt.

#![allow(clippy::print_stdout)] // what is printed is for cargo

use std::fs;
use std::path::{Path, PathBuf};

/// Letters of a commit's name that the program shows.
const LETTERS: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FARAD_COMMIT");
    let given = std::env::var("FARAD_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(packaged).or_else(checked_out);
    let commit = commit.filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let commit = commit.and_then(|commit| Some(commit.get(..LETTERS)?.to_owned()));
    println!("cargo:rustc-env=FARAD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// The commit of a package, which `cargo package` writes into it.
fn packaged() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, after) = text.split_once("\"sha1\"")?;
    Some(after.split('"').nth(1)?.to_owned())
}

/// The commit of a checkout, if it is one of Farad, not a copy of the crate in another project.
fn checked_out() -> Option<String> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    here.ends_with("crates/cli").then_some(())?;
    let git = here.join("../../.git");
    if git.is_dir() {
        return of(&git, &git);
    }
    // A work tree has a file that names its folder; a file there names the folder of all.
    let own = fs::read_to_string(&git).ok()?;
    let own = here.join("../..").join(own.strip_prefix("gitdir:")?.trim());
    let all = fs::read_to_string(own.join("commondir")).ok()?;
    of(&own, &own.join(all.trim()))
}

/// The commit that HEAD of the folder `own` names, with the names of branches in `all`.
fn of(own: &Path, all: &Path) -> Option<String> {
    let read = |path: PathBuf| {
        // Absent files would be taken for changed each time.
        path.is_file().then(|| println!("cargo:rerun-if-changed={}", path.display()))?;
        fs::read_to_string(path).ok()
    };
    let head = read(own.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().to_owned()) };
    if let Some(commit) = read(all.join(name)) {
        return Some(commit.trim().to_owned());
    }
    let packed = read(all.join("packed-refs"))?;
    let line = packed.lines().find(|line| line.ends_with(&format!(" {name}")))?;
    Some(line.split(' ').next()?.to_owned())
}
