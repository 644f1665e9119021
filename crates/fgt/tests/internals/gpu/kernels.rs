//! The kernels' files, and what is declared for them.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use fgt::internals::gpu::declared;

#[test]
fn the_source_has_these_kernels() {
    let mut names = BTreeSet::new();
    for (source, kernels) in declared() {
        cuda::testing::compare(&source, &kernels);
        // Read by .ci/compile_kernels.py.
        println!("macros of {}: {:?}", source.name, source.macros().collect::<Vec<_>>());
        names.insert(source.name.to_owned());
    }
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")).unwrap();
    let files = folder.map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension() == Some(OsStr::new("cu")));
    let files: BTreeSet<String> =
        files.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, files);
}
