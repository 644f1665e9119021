use std::path::Path;

use farad_cli::internals::paths::relative;

#[test]
fn goes_up_and_down() {
    let pairs = [
        ("cases/a.out", "meshes/a.msh", "../../meshes/a.msh"),
        ("out", "out/a.msh", "a.msh"),
        ("out", "out", "."),
        ("", "a.msh", "a.msh"),
        ("", "out/a.msh", "out/a.msh"),
        ("/nowhere/x", "/nowhere/y/z", "../y/z"),
    ];
    for (folder, target, expected) in pairs {
        assert_eq!(relative(Path::new(folder), Path::new(target)), expected);
    }
}
