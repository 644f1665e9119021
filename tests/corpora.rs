//! What fuzzing found worth keeping is read again (docs/reliability.md, "Fuzzing").

use std::path::Path;

use farad_cli::fuzzing::READERS;

/// A reader that panics fails the test; what it thinks of the bytes is its own affair.
#[test]
fn corpora_of_all_readers_are_read_without_a_panic() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, read) in READERS {
        let folder = std::fs::read_dir(corpora.join(name));
        let files = folder.unwrap_or_else(|error| panic!("corpus of {name}: {error}"));
        let mut count = 0;
        for file in files {
            let path = file.unwrap().path();
            println!("{}", path.display()); // shown where one panics
            read(&std::fs::read(&path).unwrap());
            count += 1;
        }
        assert!(count > 0, "{name} has no corpus");
    }
}
