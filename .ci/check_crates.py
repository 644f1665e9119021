"""Packages every crate of the workspace as `cargo publish` would, without building it, and looks into the packages: each has its sources,
kernels, examples, README and licences, and what crates.io asks for. Says which crates tests or the Python package would compile again,
and which tests nothing runs.

`tools/release --crates` builds the packages, too, which takes as long as a first build of all.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "crates"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]
# Crates to build on, which show in a program of their own what they are for.
WITH_EXAMPLES = {"fmm", "fgt", "mesh", "surface", "bem", "farad", "formats"}
MADE_BY_CARGO = {"Cargo.lock", "Cargo.toml.orig", ".cargo_vcs_info.json"}
LARGEST = 10 << 20  # what crates.io takes


def output(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def package_all():
    """Makes the packages; changes that are not committed are in them."""
    command = ["cargo", "package", "--workspace", "--exclude", "farad-python", "--no-verify", "--locked", "--allow-dirty", "--target-dir", str(TARGET)]
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    # Tests stay in the repository (ARCHITECTURE.md).
    told = [line for line in done.stderr.splitlines() if "ignoring test" not in line]
    warnings = [line for line in told if line.startswith("warning")]
    if done.returncode or warnings:
        sys.exit("\n".join(["cargo package:", *told]))


def faults_of(package):
    """What is wrong with a package, as sentences."""
    folder = Path(package["manifest_path"]).parent
    for key in ["description", "license", "documentation", "readme", "rust_version"]:
        if not package[key]:
            yield f"Cargo.toml has no {key.replace('_', '-')}"
    for key, most in [("keywords", 5), ("categories", 5)]:
        if not 0 < len(package[key]) <= most:
            yield f"Cargo.toml has {len(package[key])} {key}; 1 to {most} are to be there"
    yield from (f"keyword {word!r}: at most 20 letters" for word in package["keywords"] if len(word) > 20)
    if package["publish"] is not None:
        yield "Cargo.toml forbids publishing it"

    crate = TARGET / "package" / f"{package['name']}-{package['version']}.crate"
    if crate.stat().st_size > LARGEST:
        yield f"{crate.name} has {crate.stat().st_size} bytes; crates.io takes {LARGEST}"
    with tarfile.open(crate) as archive:
        inside = {str(Path(*Path(name).parts[1:])) for name in archive.getnames()}
        for name in LICENCES:
            if name not in inside:
                yield f"{name} is missing: link it, ln -s ../../{name} {folder.relative_to(ROOT)}/{name}"
            elif archive.extractfile(f"{crate.stem}/{name}").read() != (ROOT / name).read_bytes():
                yield f"{name} is not that of the repository"
    relative = folder.relative_to(ROOT)
    tracked = output("git", "ls-files", "--cached", "--others", "--exclude-standard", str(relative)).split()
    wanted = {str(Path(name).relative_to(relative)) for name in tracked if (ROOT / name).exists()}
    wanted = {name for name in wanted if not name.startswith("tests/")} | {"README.md"}
    yield from (f"{name} is missing" for name in sorted(wanted - inside - set(LICENCES)))
    yield from (f"{name} is in it, and not in the repository" for name in sorted(inside - wanted - MADE_BY_CARGO - set(LICENCES)))
    if folder.name in WITH_EXAMPLES and not any(target["kind"] == ["example"] for target in package["targets"]):
        yield "there is no example"
    readme = folder / "README.md"
    source = (folder / "src/lib.rs").read_text(encoding="utf-8")
    if readme.exists() and "```rust" in readme.read_text(encoding="utf-8") and 'include_str!("../README.md")' not in source:
        yield "README.md has code that no test runs: src/lib.rs is to include it, #[cfg(doctest)]"


def tests_that_nothing_runs(package):
    """Those in the sources of a library that is compiled once, as its tests are a program beside it."""
    library = next((target for target in package["targets"] if "lib" in target["kind"]), None)
    if library and not library["test"]:
        for source in sorted(Path(library["src_path"]).parent.rglob("*.rs")):
            if re.search(r"#\[(cfg\(test\)|test)\]|\bproptest!", source.read_text(encoding="utf-8")):
                yield f"{source.relative_to(ROOT)} has tests that no command runs: they go to tests/internals"


def other_versions(version):
    """Manifests outside of the workspace that have the project's version."""
    for name in ["benches/Cargo.toml"]:
        found = tomllib.loads((ROOT / name).read_text())["package"]["version"]
        if found != version:
            yield f"{name} has version {found}, the workspace {version}"
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    for name, dependency in manifest["workspace"]["dependencies"].items():
        if isinstance(dependency, dict) and "path" in dependency and dependency.get("version") != version:
            yield f"Cargo.toml: {name} is asked for with version {dependency.get('version')}, the workspace has {version}"


def crates(*choice):
    """Crates with their versions and features, as lines, of what is chosen."""
    listed = output("cargo", "tree", "--locked", "--prefix", "none", "--format", "{p} {f}", *choice).splitlines()
    return {line.removesuffix(" (*)") for line in listed}


def compiled_twice():
    """What the program is made of and the tests or the Python package would compile anew: with other features, as their own dependencies
    ask for."""
    built = ["--edges", "normal,build"]
    program = crates("--package", "farad-cli", *built)
    for crate in sorted(program - crates("--edges", "normal,build,dev")):
        yield f"tests compile {crate.strip()} with more features, and all that is made with it: ask for these in Cargo.toml too"
    # Its features are those that all of it asks for together.
    package = crates("--package", "farad-python", *built)
    shared = {line.split(" v")[0] for line in crates("--package", "farad-formats", *built)}
    for crate in sorted(package - program):
        if crate.split(" v")[0] in shared:
            yield f"the Python package compiles {crate.strip()} with other features than the program: ask for these in Cargo.toml too"


def main():
    metadata = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1", "--no-deps"))
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    package_all()
    faults = [*other_versions(version), *compiled_twice()]
    published = [package for package in metadata["packages"] if package["name"] != "farad-python"]
    for package in published:
        faults += [f"{package['name']}: {fault}" for fault in [*faults_of(package), *tests_that_nothing_runs(package)]]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(published)} crates packaged, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
