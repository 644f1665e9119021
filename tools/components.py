"""Lists what a program of Farad is made of: a software bill of materials (CycloneDX 1.5, JSON) and the licences of others.

    python3 tools/components.py --package farad-cli --target x86_64-unknown-linux-gnu --sbom farad.cdx.json --licences THIRD-PARTY.txt

It reads what `cargo metadata` resolves for the package and target, with the checksums of Cargo.lock. What runs only while the program is
built (build scripts, macros, and what they use) has the scope "excluded" in the list, and no place among the licences. The standard library
of Rust, musl in static programs, and three.js, which the program carries for its pages, are listed too.

The output depends on the sources, the toolchain and SOURCE_DATE_EPOCH only. Needs Python 3.11, and nothing else.
"""

import argparse
import base64
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEWER = ROOT / "crates/report/src/page/viewer"
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
RULE = "=" * 80


def command(*words):
    return subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def resolved(target):
    """Packages by their identity, and the edges of each: (identity, whether it is only there to build)."""
    metadata = json.loads(
        command("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target)
    )
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {}
    for node in metadata["resolve"]["nodes"]:
        edges[node["id"]] = []
        for dependency in node["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            if kinds & {None, "build"}:
                edges[node["id"]].append((dependency["pkg"], None not in kinds))
    return packages, edges


def is_macro(package):
    return any("proc-macro" in target["kind"] for target in package["targets"])


def reached(root, packages, edges):
    """What is in the program, and what only builds it."""
    inside, outside = set(), set()

    def visit(identity, builds):
        builds = builds or is_macro(packages[identity])
        seen = outside if builds else inside
        if identity not in seen:
            seen.add(identity)
            for dependency, only_builds in edges[identity]:
                visit(dependency, builds or only_builds)

    visit(root, False)
    return inside, outside - inside


def expression(licence):
    """Old manifests have "MIT/Apache-2.0"."""
    return re.sub(r"\s*/\s*", " OR ", licence)


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums, builds):
    item = {"type": "library", "bom-ref": purl(package), "name": package["name"], "version": package["version"]}
    if package["description"]:
        item["description"] = " ".join(package["description"].split())
    item["scope"] = "excluded" if builds else "required"
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        item["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["license"]:
        item["licenses"] = [{"expression": expression(package["license"])}]
    item["purl"] = purl(package)
    links = [("website", package["homepage"]), ("vcs", package["repository"])]
    links = [{"type": kind, "url": url} for kind, url in links if url]
    if links:
        item["externalReferences"] = links
    return item


def standard_library():
    version = re.search(r"rustc (\S+)", command("rustc", "--version"))[1]
    reference = f"pkg:generic/rust-std@{version}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": "rust-std",
        "version": version,
        "description": "The standard library of Rust",
        "scope": "required",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "purl": reference,
    }


def musl():
    """The C library of static programs."""
    reference = "pkg:generic/musl"
    licence = [{"license": {"id": "MIT"}}]
    return {"type": "library", "bom-ref": reference, "name": "musl", "scope": "required", "licenses": licence, "purl": reference}


def three():
    """three.js, which is bundled in the pages of `farad report`."""
    package = json.loads((VIEWER / "package-lock.json").read_text())["packages"]["node_modules/three"]
    reference = f"pkg:npm/three@{package['version']}"
    algorithm, digest = package["integrity"].split("-", 1)
    assert algorithm == "sha512"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": "three",
        "version": package["version"],
        "description": "JavaScript 3D library, bundled in the pages of results",
        "scope": "required",
        "hashes": [{"alg": "SHA-512", "content": base64.b64decode(digest).hex()}],
        "licenses": [{"license": {"id": package["license"]}}],
        "purl": reference,
    }


def bill(root, packages, edges, inside, outside, checksums, extra):
    main = packages[root]
    program = component(main, {}, False) | {"type": "application"}
    del program["scope"]
    names = sorted((inside | outside) - {root}, key=lambda each: (packages[each]["name"], packages[each]["version"]))
    components = [component(packages[each], checksums, each in outside) for each in names] + extra
    depends = [
        {"ref": purl(packages[each]), "dependsOn": sorted({purl(packages[to]) for to, _ in edges[each]})} for each in [root, *names]
    ]
    depends[0]["dependsOn"] += [each["bom-ref"] for each in extra]
    when = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "tools/components.py", "version": main["version"]}]},
            "component": program,
            "properties": [{"name": "rustc", "value": command("rustc", "--version").strip()}],
        },
        "components": components,
        "dependencies": depends,
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {"serialNumber": f"urn:uuid:{number}"} | content


def licences(packages, identities, with_three):
    """Texts of licences, each once, with the packages that have it."""
    texts, without = {}, []
    for identity in sorted(identities, key=lambda each: (packages[each]["name"], packages[each]["version"])):
        package = packages[identity]
        name = f"{package['name']} {package['version']} ({expression(package['license'] or 'see the text')})"
        folder = Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.iterdir() if file.is_file() and LICENCE_FILE.match(file.name))
        if package["license_file"]:
            files = sorted({*files, folder / package["license_file"]})
        if not files:
            without.append(f"{name}, by {', '.join(package['authors']) or 'its authors'}: {package['repository'] or 'no address given'}")
        for file in files:
            texts.setdefault(file.read_text(encoding="utf-8", errors="replace").strip(), []).append(name)
    if with_three:
        texts.setdefault((VIEWER / "three.LICENSE.txt").read_text(encoding="utf-8").strip(), []).append("three.js (MIT)")
    parts = ["Farad contains the software below, under these licences. Farad's own are in LICENSE-MIT and LICENSE-APACHE, those of the\n"
             "standard library of Rust in LICENSE-RUST-LIBRARY.html."]
    for text, names in sorted(texts.items(), key=lambda each: each[1]):
        parts.append(f"{RULE}\n" + "\n".join(dict.fromkeys(names)) + f"\n{RULE}\n\n{text}")
    if without:
        parts.append(f"{RULE}\nPackages that come without the text of the licence that they name:\n{RULE}\n\n" + "\n".join(without))
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", required=True, help="the package whose program or module it is")
    parser.add_argument("--target", required=True, help="the target triple it is built for")
    parser.add_argument("--sbom", type=Path, required=True, help="file to write the bill of materials to")
    parser.add_argument("--licences", type=Path, required=True, help="file to write the licences of others to")
    arguments = parser.parse_args()

    packages, edges = resolved(arguments.target)
    roots = [identity for identity, package in packages.items() if package["name"] == arguments.package and not package["source"]]
    if len(roots) != 1:
        sys.exit(f"there is no package {arguments.package}")
    inside, outside = reached(roots[0], packages, edges)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}
    with_pages = any(packages[each]["name"] == "farad-cli" for each in inside)
    extra = [standard_library()]
    extra += [musl()] if arguments.target.endswith("musl") else []
    extra += [three()] if with_pages else []
    sbom = bill(roots[0], packages, edges, inside, outside, checksums, extra)
    arguments.sbom.write_text(json.dumps(sbom, indent=2) + "\n", encoding="utf-8")
    foreign = [each for each in inside if packages[each]["source"]]
    arguments.licences.write_text(licences(packages, foreign, with_pages), encoding="utf-8")


if __name__ == "__main__":
    main()
