//! The writer read back, and the reader under mutated files.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::check::Report;
use mesh::generate::{Bus, Resolution, Sphere, SphereBase, TwoSpheres};
use mesh::gmsh::{self, Encoding};
use mesh::{Mesh, Patches, PhysicalGroup, conductors};
use proptest::prelude::*;
use std::sync::LazyLock;

const ENCODINGS: [Encoding; 3] = [Encoding::Ascii, Encoding::LittleEndian, Encoding::BigEndian];

fn written(mesh: &Mesh, encoding: Encoding) -> Vec<u8> {
    let mut file = Vec::new();
    gmsh::write(mesh, encoding, &mut file).unwrap();
    file
}

/// A mesh with unnamed groups, a triangle in two groups and triangles in none, in alternation.
fn mixed() -> Mesh {
    let mut mesh = Sphere {
        radius: 0.3e-9,
        base: SphereBase::Octahedron,
        resolution: Resolution::Elements(72),
    }
    .build()
    .unwrap();
    mesh.groups = vec![
        PhysicalGroup { tag: 900, name: None },
        PhysicalGroup { tag: 3, name: Some("a \"quoted\" name, ä".into()) },
    ];
    mesh.memberships = vec![vec![], vec![0], vec![0, 1], vec![1]];
    mesh.membership = (0..72).map(|t| (t % 5 + 1) % 4).collect();
    mesh
}

/// Long blocks of text are read in pieces on all cores, others line by line: both ways alike, with
/// the same faults.
#[test]
fn pieces_of_text_are_read_as_the_whole() {
    let sphere = Sphere {
        radius: 1.0,
        base: SphereBase::Icosahedron,
        resolution: Resolution::Elements(20_000),
    };
    let mesh = sphere.build().unwrap();
    let file = String::from_utf8(written(&mesh, Encoding::Ascii)).unwrap();
    assert_eq!(gmsh::parse(file.as_bytes()).unwrap().0, mesh);
    let with_returns = file.replace('\n', "\r\n");
    assert_eq!(gmsh::parse(with_returns.as_bytes()).unwrap().0, mesh);
    let lines: Vec<&str> = file.lines().collect();
    let start = |section: &str| lines.iter().position(|line| *line == section).unwrap();
    let (nodes, elements) = (start("$Nodes"), start("$Elements"));
    let count = mesh.vertices.len();
    // A tag, a point, a triangle; each after the first piece and before the last one.
    for place in [nodes + 9_000, nodes + count + 9_000, elements + 15_000] {
        let changed = |line: &str| {
            let mut lines = lines.clone();
            lines[place] = line;
            lines.join("\n")
        };
        let in_two = lines[place].trim_end().replacen(' ', "\n", 1);
        let blank = format!("\n{}", lines[place]);
        let read = gmsh::parse(changed(&blank).as_bytes()).unwrap().0;
        assert!(read == mesh);
        for wrong in [format!("{} 1", lines[place]), format!("{}x", lines[place]), in_two] {
            if wrong == lines[place].trim_end() {
                continue;
            }
            let fault = gmsh::parse(changed(&wrong).as_bytes()).err();
            let fault = fault.map(|fault| fault.to_string()).unwrap_or_default();
            assert!(fault.contains(&format!("line {}", place + 1)), "{wrong}: {fault:?}");
        }
    }
}

#[test]
fn what_is_written_is_read_back() {
    let spheres = TwoSpheres {
        radius: 1.0,
        distance: 3.0,
        base: SphereBase::Icosahedron,
        resolution: Resolution::Elements(1000),
    };
    let bus = Bus {
        bars: 2,
        width: 1.0,
        spacing: 1.0,
        gap: 1.0,
        grade: 10.0,
        resolution: Resolution::Elements(1000),
    };
    let mut ungrouped = spheres.build().unwrap();
    ungrouped.groups.clear();
    ungrouped.memberships.truncate(1);
    ungrouped.membership.fill(0);
    for mesh in [spheres.build().unwrap(), bus.build().unwrap(), ungrouped] {
        for encoding in ENCODINGS {
            let (read, report) = gmsh::parse(&written(&mesh, encoding)).unwrap();
            assert_eq!(read, mesh);
            assert_eq!(report.encoding, encoding);
            assert!(report.notes.is_empty());
        }
    }
    for encoding in ENCODINGS {
        let (mesh, (read, _)) = (mixed(), gmsh::parse(&written(&mixed(), encoding)).unwrap());
        assert_eq!((&read.vertices, &read.triangles), (&mesh.vertices, &mesh.triangles));
        for t in 0..72 {
            let labels = |mesh: &Mesh| {
                let groups = mesh.groups_of(t).iter();
                let mut tags: Vec<i64> = groups.map(|&g| mesh.groups[g as usize].tag).collect();
                tags.sort_unstable();
                tags
            };
            assert_eq!(labels(&read), labels(&mesh));
        }
    }
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let refused = |change: fn(&mut Mesh), part: &str| {
        let mut mesh = mixed();
        change(&mut mesh);
        let error = gmsh::write(&mesh, Encoding::Ascii, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let line_break = |mesh: &mut Mesh| mesh.groups[1].name = Some("two\nlines".into());
    refused(line_break, "the group name \"two\\nlines\" has a line break");
    let tag = "the physical tag 1099511627776 is not positive or has over 31 bits";
    refused(|mesh| mesh.groups[0].tag = 1 << 40, tag);
    refused(|mesh| mesh.vertices[0][0] = f64::NAN, "vertex 0 has the coordinate NaN");
}

/// Small valid files of all formats.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut files: Vec<Vec<u8>> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "msh"))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    files.extend(ENCODINGS.map(|encoding| written(&mixed(), encoding)));
    files
});

/// A change of a file.
#[derive(Clone, Debug)]
enum Mutation {
    Set(usize, u8),
    FlipBit(usize, u8),
    Truncate(usize),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Copy(usize, usize, usize),
    /// Replaces a number of ASCII by another.
    Number(usize, &'static str),
    /// Replaces eight bytes, as a count of a binary file has.
    Word(usize, u64),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    use Mutation as M;
    let at = 0usize..6000;
    let numbers =
        vec!["0", "-1", "2", "4294967296", "18446744073709551615", "1e400", "nan", "$", "\""];
    prop_oneof![
        (at.clone(), any::<u8>()).prop_map(|(i, b)| M::Set(i, b)),
        (at.clone(), 0u8..8).prop_map(|(i, b)| M::FlipBit(i, b)),
        at.clone().prop_map(M::Truncate),
        (at.clone(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(i, b)| M::Insert(i, b)),
        (at.clone(), 1usize..40).prop_map(|(i, n)| M::Remove(i, n)),
        (at.clone(), at.clone(), 1usize..200).prop_map(|(i, j, n)| M::Copy(i, j, n)),
        (at.clone(), prop::sample::select(numbers)).prop_map(|(i, n)| M::Number(i, n)),
        (at, prop_oneof![Just(u64::MAX), Just(1 << 62), 0u64..99]).prop_map(|(i, n)| M::Word(i, n)),
    ]
}

fn mutate(file: &mut Vec<u8>, mutation: &Mutation) {
    if file.is_empty() {
        return;
    }
    let length = file.len();
    match *mutation {
        Mutation::Set(i, byte) => file[i % length] = byte,
        Mutation::FlipBit(i, bit) => file[i % length] ^= 1 << bit,
        Mutation::Truncate(i) => file.truncate(i % length),
        Mutation::Insert(i, ref bytes) => {
            file.splice(i % length..i % length, bytes.iter().copied());
        }
        Mutation::Remove(i, n) => {
            let start = i % length;
            file.drain(start..(start + n).min(length));
        }
        Mutation::Copy(i, j, n) => {
            let start = i % length;
            let piece = file[start..(start + n).min(length)].to_vec();
            file.splice(j % length..j % length, piece);
        }
        Mutation::Number(i, number) => {
            let is_digit = |b: &u8| b.is_ascii_digit() || *b == b'.';
            let start = i % length + file[i % length..].iter().position(is_digit).unwrap_or(0);
            let end = file[start..].iter().position(|b| !is_digit(b)).map_or(length, |n| start + n);
            file.splice(start..end, number.bytes());
        }
        Mutation::Word(i, word) => {
            let start = i % length;
            let end = (start + 8).min(length);
            file.splice(start..end, word.to_le_bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_never_panic(
        which in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let mut file = which.get(&FILES).clone();
        for mutation in &mutations {
            mutate(&mut file, mutation);
        }
        // Accepted meshes must be valid and fit for all functions of meshes.
        match gmsh::parse(&file) {
            Ok((mesh, _)) => {
                prop_assert!(!mesh.triangles.is_empty());
                prop_assert!(Report::of(&mesh).is_ok());
                let _ = conductors::assign(&mesh, &[], &[]);
            }
            Err(error) => {
                let message = error.to_string();
                prop_assert!(message.starts_with("line ") || message.starts_with("byte "));
                prop_assert!(!message.contains('\n'));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        header in prop::sample::select(vec![
            "", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n",
            "$MeshFormat\n4.1 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n",
            "$MeshFormat\n2.2 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n3\n",
            "$MeshFormat\n4.1 1 4\n\0\0\0\x01\n$EndMeshFormat\n$Entities\n",
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let file = [header.as_bytes(), &bytes].concat();
        prop_assert!(gmsh::parse(&file).is_err());
    }
}

/// Large binary files are read on all cores: to the same mesh as text, and with the same complaints
/// as big-endian ones, which are read number by number.
#[test]
fn large_files_are_read_as_small_ones() {
    let resolution = Resolution::Elements(20_000);
    let mesh = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution }.build().unwrap();
    let [text, little, big] = [Encoding::Ascii, Encoding::LittleEndian, Encoding::BigEndian]
        .map(|encoding| written(&mesh, encoding));
    let [from_text, from_little, from_big] =
        [&text, &little, &big].map(|file| gmsh::parse(file).unwrap());
    assert_eq!(from_little.0, from_text.0);
    assert_eq!(from_little.0, from_big.0);
    assert_eq!(from_little.0.triangles.len(), mesh.triangles.len());

    // The last coordinate of all, the last tag of a node, and tag and node of the last triangle.
    let end = |file: &[u8], name: &str| {
        file.windows(name.len()).rposition(|w| w == name.as_bytes()).unwrap() - 1
    };
    let nodes = 24 * mesh.vertices.len();
    let places = [
        (end(&little, "$EndNodes") - 8, f64::NAN.to_bits()),
        (end(&little, "$EndNodes") - nodes - 8, 1),
        (end(&little, "$EndElements") - 32, 1),
        (end(&little, "$EndElements") - 8, 1 << 40),
    ];
    for (at, value) in places {
        let [mut little, mut big] = [little.clone(), big.clone()];
        little[at..at + 8].copy_from_slice(&value.to_le_bytes());
        big[at..at + 8].copy_from_slice(&value.to_be_bytes());
        let [from_little, from_big] = [&little, &big].map(|file| gmsh::parse(file).unwrap_err());
        assert_eq!(from_little.to_string(), from_big.to_string());
    }
}

/// A sphere of curved triangles, whose nodes lie on it.
fn curved_sphere(order: usize) -> Mesh {
    let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(72));
    let mut mesh = Sphere { radius: 0.3, base, resolution }.build().unwrap();
    let mut patches = Patches::straight(&mesh, order);
    for t in 0..mesh.triangles.len() {
        for node in &mut patches.of_mut(t)[3..] {
            let length = node.iter().map(|x| x * x).sum::<f64>().sqrt();
            *node = node.map(|x| 0.3 / length * x);
        }
    }
    mesh.patches = Some(patches);
    mesh.validate().unwrap();
    mesh
}

#[test]
fn curved_triangles_are_read_back() {
    for order in 2..=4 {
        let mesh = curved_sphere(order);
        for encoding in ENCODINGS {
            let (read, report) = gmsh::parse(&written(&mesh, encoding)).unwrap();
            assert_eq!(read, mesh);
            // Euler's formula, V - E + F = 2 with 3 F = 2 E: nodes of edges are there once.
            let inner = (order - 1) * (order - 2) / 2;
            assert_eq!(report.vertices, 72 / 2 + 2 + 108 * (order - 1) + 72 * inner);
            assert!(report.notes.is_empty() && report.dropped_vertices == 0);
        }
    }
}

/// Two triangles in version 2.2, one of order 2 that is turned over and one of another type.
#[test]
fn orders_in_one_file_become_the_highest() {
    let text = |other: &str| {
        format!(
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n1 0 0 0\n2 2 0 0\n3 0 2 0\n4 1 -0.1 0\n5 1 1 0\n\
             6 0 1 0\n7 2 2 0\n8 9 9 9\n$EndNodes\n$Elements\n2\n1 9 2 -1 1 1 2 3 4 5 6\n2 {other}\n$EndElements\n"
        )
    };
    let (mesh, report) = gmsh::parse(text("2 2 1 1 2 7 3").as_bytes()).unwrap();
    mesh.validate().unwrap();
    assert_eq!((mesh.order(), report.flattened, report.dropped_vertices), (2, 0, 1));
    let patches = mesh.patches.as_ref().unwrap();
    assert_eq!(mesh.triangles[0], [0, 2, 1]);
    assert_eq!(patches.of(0)[3..], [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, -0.1, 0.0]]);
    assert_eq!(patches.of(1)[3..], [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.0, 0.0]]);
    assert!(report.notes.iter().all(|note| !note.contains("gaps")));
    // Where a flat triangle has the curved side: a gap.
    let (_, report) = gmsh::parse(text("2 2 1 1 1 2 7").as_bytes()).unwrap();
    let torn = "1 side is another curve for one triangle than for the next: the surface has gaps";
    assert!(report.notes.iter().any(|note| note.contains(torn)), "{:?}", report.notes);
    // Types without inner nodes are flat: 9 nodes, order 3.
    let (mesh, report) = gmsh::parse(text("20 2 1 1 2 7 3 1 1 1 1 1 1").as_bytes()).unwrap();
    assert_eq!((mesh.order(), report.flattened), (2, 1));
    let flat = "1 element of higher order is read as flat: only its corners count";
    assert!(report.notes.iter().any(|note| note == flat), "{:?}", report.notes);
    let (mesh, _) = gmsh::parse(text("3 2 1 1 1 2 7 3").as_bytes()).unwrap();
    mesh.validate().unwrap();
    assert_eq!((mesh.order(), mesh.triangles.len()), (2, 3));
}
