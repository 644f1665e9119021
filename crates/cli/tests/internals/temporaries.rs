use std::fs;

use farad_cli::internals::files::temporary_name;
use farad_cli::internals::temporaries::{LONGEST, PLACES, Temporary, known};

fn folder() -> Temporary {
    let path = std::env::temp_dir().join(temporary_name(None));
    fs::create_dir(&path).unwrap();
    Temporary::new(path)
}

#[test]
fn the_table_has_what_there_is() {
    let folder = folder();
    assert_eq!(known(folder.path()), Some(true));
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let mut inside = Temporary::if_empty(first.clone());
    assert_eq!(known(&first), Some(false));
    inside.moved(second.clone());
    assert_eq!((known(&first), known(&second)), (None, Some(false)));
    inside.keep();
    assert_eq!(known(&second), None);
    fs::write(&second, "stays").unwrap();
    drop(inside);
    assert!(second.exists());
    let outer = folder.path().to_owned();
    drop(folder);
    assert!(!outer.exists() && known(&outer).is_none());
}

#[test]
fn more_than_the_table_holds_go_when_they_are_dropped() {
    let folder = folder();
    let path = |k: usize| folder.path().join(format!("{k}"));
    let mut all: Vec<Temporary> = (0..PLACES + 5).map(|k| Temporary::new(path(k))).collect();
    let long = folder.path().join("x/".repeat(LONGEST));
    all.push(Temporary::new(long.clone()));
    assert_eq!(known(&long), None);
    (0..all.len() - 1).for_each(|k| fs::write(path(k), "goes").unwrap());
    drop(all);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn folders_are_removed_without_memory_and_links_are_not_followed() {
    use std::path::Path;

    use farad_cli::internals::temporaries::remove_without_memory;

    let (outer, other) = (folder(), folder());
    let inner = outer.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    for k in 0..300 {
        fs::write(inner.join(format!("a file with a rather long name {k}")), "x").unwrap();
    }
    fs::write(other.path().join("stays"), "x").unwrap();
    std::os::unix::fs::symlink(other.path(), inner.join("link")).unwrap();
    let bytes = |path: &Path| -> [u8; LONGEST] {
        let bytes = path.as_os_str().as_encoded_bytes();
        std::array::from_fn(|k| bytes.get(k).copied().unwrap_or(0))
    };
    remove_without_memory(&bytes(outer.path()), false);
    assert!(inner.exists(), "it is not empty");
    remove_without_memory(&bytes(outer.path()), true);
    assert!(!outer.path().exists() && other.path().join("stays").exists());
    let file = other.path().join("stays");
    remove_without_memory(&bytes(&file), true);
    assert!(!file.exists());
    remove_without_memory(&bytes(other.path()), false);
    assert!(!other.path().exists());
}
