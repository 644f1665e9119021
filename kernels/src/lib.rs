//! CUDA sources of Farad's kernels, embedded in the library: a folder for each crate that starts
//! them. No code, no dependencies.

/// A file of CUDA C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, which `#include` lines have; no two files have the same.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
}

macro_rules! folders {
    ($(
        $(#[$about:meta])*
        $folder:ident {
            headers: [$($header:literal),* $(,)?];
            $($constant:ident = $file:literal;)*
        }
    )*) => {
        $(
            $(#[$about])*
            pub mod $folder {
                use super::File;

                const fn file(name: &'static str, text: &'static str) -> File {
                    File { name, text }
                }

                $(
                    #[doc = concat!("`", $file, "`.")]
                    pub const $constant: File =
                        file($file, include_str!(concat!("../", stringify!($folder), "/", $file)));
                )*

                /// Files with kernels.
                pub const KERNELS: &[File] = &[$($constant),*];

                /// Files that others include.
                pub const HEADERS: &[File] = &[$(
                    file($header, include_str!(concat!("../", stringify!($folder), "/", $header)))
                ),*];
            }
        )*

        /// The headers of all folders.
        const HEADERS: &[&[File]] = &[$($folder::HEADERS),*];

        #[cfg(test)]
        const FOLDERS: &[(&str, &[File], &[File])] =
            &[$((stringify!($folder), $folder::KERNELS, $folder::HEADERS)),*];
    };
}

folders! {
    /// What the kernels of all crates share, and the example of `cuda::kernels!`.
    cuda {
        headers: ["real.cuh"];
        SCALE = "scale.cu";
    }
    /// Multipole sums: octree, expansions, near pairs.
    fmm {
        headers: ["cell.cuh", "harmonics.cuh", "levels.cuh", "near.cuh", "screening.cuh"];
        CLOSE = "close.cu";
        EXCHANGE = "exchange.cu";
        L2P = "l2p.cu";
        LISTS = "lists.cu";
        M2L = "m2l.cu";
        M2P = "m2p.cu";
        MORTON = "morton.cu";
        P2M = "p2m.cu";
        P2P = "p2p.cu";
        PARTICLES = "particles.cu";
        ROTATED = "rotated.cu";
        SCAN = "scan.cu";
        SORT = "sort.cu";
        TRANSLATE = "translate.cu";
        TREE = "tree.cu";
        TRUNCATION = "truncation.cu";
    }
    /// Boundary elements: near field, preconditioner, vectors of GMRES.
    bem {
        headers: ["pair.cuh", "rows.cuh", "solid_angle.cuh", "triangle.cuh"];
        CHILDREN = "children.cu";
        INTERFACES = "interfaces.cu";
        NEAR = "near.cu";
        PRECONDITIONER = "preconditioner.cu";
        SCREENED = "screened.cu";
        SPARSE = "sparse.cu";
        VECTORS = "vectors.cu";
    }
    /// Sums of Gaussians.
    fgt {
        headers: ["window.cuh"];
        CONVOLVE = "convolve.cu";
        INTERPOLATE = "interpolate.cu";
        PAIRS = "pairs.cu";
        POINTS = "points.cu";
        SPREAD = "spread.cu";
    }
}

/// The text of the header `name`.
pub fn header(name: &str) -> Option<&'static str> {
    let found = HEADERS.iter().copied().flatten().find(|file| file.name == name)?;
    Some(found.text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        let there: BTreeSet<_> =
            folders.filter(|path| path.is_dir() && !path.ends_with("src")).collect();
        assert_eq!(there, FOLDERS.iter().map(|(folder, ..)| root.join(folder)).collect());
        let mut names = BTreeSet::new();
        for (folder, kernels, headers) in FOLDERS {
            let folder = root.join(folder);
            let there = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let files = kernels.iter().chain(*headers);
            let embedded: BTreeSet<_> = files.clone().map(|file| folder.join(file.name)).collect();
            assert_eq!(embedded, there.collect());
            for file in files {
                assert_eq!(file.text, fs::read_to_string(folder.join(file.name)).unwrap());
                assert!(names.insert(file.name), "two files have the name {}", file.name);
            }
        }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
