//! What once went wrong, or nearly did.

use crate::support::Workplace;

#[test]
fn names_with_markup_and_commas_survive_every_format() {
    let place = Workplace::small("regression_names");
    let name = "a<b> & \\\"c\\\", d";
    place.case(
        "odd.toml",
        "sphere.msh",
        &format!("[[conductor]]\nname = \"{name}\"\ngroup = \"sphere\""),
    );
    let results = place.solve("odd.toml");
    assert_eq!(results["capacitance"]["conductors"][0], "a<b> & \"c\", d");
    assert!(place.read("odd.out/capacitance_maxwell.csv").contains("\"a<b> & \"\"c\"\", d\""));
    let surface = place.read("odd.out/surface.vtu");
    assert!(surface.contains("a&lt;b&gt; &amp; &quot;c&quot;, d at 1 V"), "unescaped");
    place.must("solve odd.out/case.resolved.toml");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;

    let place = Workplace::small("regression_pipe");
    let mut child = place.command("solve sphere.toml").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn verbose_works_everywhere_and_keeps_stdout_clean() {
    let place = Workplace::small("regression_verbose");
    let plain = place.must("mesh info sphere.msh").stdout;
    assert_eq!(place.must("mesh info sphere.msh -v").stdout, plain);
    assert_eq!(place.must("-vv mesh info sphere.msh").stdout, plain);
    assert!(place.must("solve sphere.toml -v").stderr.contains("INFO"));
}
