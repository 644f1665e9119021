use std::path::Path;

use formats::internals::gds::stack::{LabelsOf, Span, Stack, Unlabelled};

const METAL: &str = "[[metal]]\nname = \"m\"\ngds = \"68/20\"\nfrom = 1\nto = 2.5\n";

fn parse(text: &str) -> Result<Stack, String> {
    let path = Path::new("stack.toml");
    Stack::parse(path, text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let stack = parse(METAL).unwrap();
    assert_eq!((stack.background, stack.ground, stack.top), (1.0, None, None));
    assert_eq!((stack.unlabelled, stack.labels_of), (Unlabelled::Floating, LabelsOf::Top));
    let layer = &stack.layers[0];
    assert_eq!((&layer.gds[..], &layer.labels[..]), (&[(68, Some(20))][..], &[(68, None)][..]));
    assert_eq!((layer.line, &layer.span), (1, &Span::Heights([1.0, 2.5])));
}

#[test]
fn faults_name_the_line_and_the_key() {
    for (more, line, words) in [
        ("colour = 1\n", 6, "unknown field `colour`"),
        (
            "[[metal]]\nname = \"n\"\ngds = \"1/2/3\"\nfrom = 1\nto = 2\n",
            8,
            "\"1/2/3\" is no layer",
        ),
        ("[[metal]]\nname = \"n\"\ngds = 7\nfrom = 1\nto = 2\n", 8, "a layer such as \"68/20\""),
        ("[[metal]]\nname = \"n\"\ngds = \"68/20\"\nfrom = 1\nto = 2\n", 6, "the same layer"),
        ("[[metal]]\nname = \"n\"\ngds = \"7\"\nfrom = 2\nto = 2\n", 10, "must be higher"),
        ("[[metal]]\nname = \"n\"\ngds = \"7\"\nfrom = 2\n", 6, "needs `from` and `to`"),
        ("[[via]]\nname = \"n\"\ngds = \"7\"\n", 6, "needs `connects"),
        (
            "[[metal]]\nname = \"n\"\ngds = \"7\"\nconnects = [\"a\", \"b\"]\n",
            6,
            "the metal n has `connects`, which is for vias",
        ),
        ("[[dielectric]]\nname = \"d\"\nrelative_permittivity = 0\nfrom = 1\nto = 2\n", 8, "is 0"),
        ("[[dielectric]]\nname = \"d\"\nrelative_permittivity = 2\nfrom = 1\n", 6, "needs either"),
        ("[[dielectric]]\nname = \"d\"\nrelative_permittivity = 2\nwraps = \"x\"\n", 6, "wraps x"),
    ] {
        let found = parse(&format!("{METAL}{more}")).unwrap_err();
        assert!(found.contains(&format!("line {line}:")) && found.contains(words), "{found}");
    }
    assert!(
        parse(&format!("window = [0, 0, 0, 1]\n{METAL}")).unwrap_err().contains("line 1: window")
    );
    assert!(parse("ground = 0\n").unwrap_err().contains("no [[metal]]"));
    assert!(parse(&format!("unlabelled = \"x\"\n{METAL}")).unwrap_err().contains("`floating`"));
}
