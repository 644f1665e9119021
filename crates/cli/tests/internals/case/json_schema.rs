//! The JSON schema and the reader refuse the same mistakes. `python/tests/test_case_schema.py` has
//! the schema itself checked by a validator of others.

use std::fs;
use std::path::Path;

use farad_cli::internals::case::{Overrides, json_schema, parse};
use serde_json::{Value, json};

/// The keywords that the schema may use besides those of [`fits`].
const ANNOTATIONS: [&str; 5] = ["$schema", "title", "description", "then", "else"];

/// Whether a value fits a schema: the keywords of JSON Schema that ours has.
fn fits(schema: &Value, value: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return schema == &json!(true) };
    schema.iter().all(|(keyword, rule)| keyword_fits(keyword, rule, schema, value))
}

fn keyword_fits(
    keyword: &str,
    rule: &Value,
    schema: &serde_json::Map<String, Value>,
    value: &Value,
) -> bool {
    let (text, list, table) = (value.as_str(), value.as_array(), value.as_object());
    let of_number = |fits: fn(f64, f64) -> bool| {
        value.as_f64().is_none_or(|number| fits(number, rule.as_f64().unwrap()))
    };
    let length = |fits: fn(usize, usize) -> bool| {
        list.is_none_or(|list| fits(list.len(), rule.as_u64().unwrap() as usize))
    };
    let schemas = || rule.as_array().unwrap().iter();
    let has = |key: &Value| table.unwrap().contains_key(key.as_str().unwrap());
    match keyword {
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            other => panic!("unknown type {other}"),
        },
        "properties" => table.is_none_or(|table| {
            let known = rule.as_object().unwrap().iter();
            known
                .into_iter()
                .all(|(key, rule)| table.get(key).is_none_or(|value| fits(rule, value)))
        }),
        "additionalProperties" => table.is_none_or(|table| {
            let known = schema.get("properties").and_then(Value::as_object);
            let is_other = |key: &str| known.is_none_or(|known| !known.contains_key(key));
            table.iter().filter(|(key, _)| is_other(key)).all(|(_, value)| fits(rule, value))
        }),
        "required" => table.is_none() || schemas().all(has),
        "dependentRequired" => table.is_none_or(|table| {
            let needs = rule.as_object().unwrap().iter();
            needs.into_iter().all(|(key, others)| {
                !table.contains_key(key) || others.as_array().unwrap().iter().all(has)
            })
        }),
        "allOf" => schemas().all(|rule| fits(rule, value)),
        "anyOf" => schemas().any(|rule| fits(rule, value)),
        "oneOf" => schemas().filter(|rule| fits(rule, value)).count() == 1,
        "not" => !fits(rule, value),
        "if" => {
            let then = schema.get(if fits(rule, value) { "then" } else { "else" });
            then.is_none_or(|then| fits(then, value))
        }
        "enum" => schemas().any(|known| same(known, value)),
        "const" => same(rule, value),
        "minimum" => of_number(|number, low| number >= low),
        "maximum" => of_number(|number, high| number <= high),
        "exclusiveMinimum" => of_number(|number, low| number > low),
        "multipleOf" => of_number(|number, step| (number / step).fract() == 0.0),
        "minLength" => text.is_none_or(|text| text.len() as u64 >= rule.as_u64().unwrap()),
        "pattern" => text.is_none_or(|text| matches(rule.as_str().unwrap(), text)),
        "items" => list.is_none_or(|list| list.iter().all(|item| fits(rule, item))),
        "minItems" => length(|count, least| count >= least),
        "maxItems" => length(|count, most| count <= most),
        "contains" => list.is_none_or(|list| {
            let count = list.iter().filter(|item| fits(rule, item)).count() as u64;
            let limit =
                |keyword, usual| schema.get(keyword).and_then(Value::as_u64).unwrap_or(usual);
            (limit("minContains", 1)..=limit("maxContains", u64::MAX)).contains(&count)
        }),
        "minContains" | "maxContains" => true,
        other if ANNOTATIONS.contains(&other) => true,
        other => panic!("the keyword {other} is not known here"),
    }
}

/// JSON's numbers are equal by value: 0 is 0.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}

/// The regular expressions of the schema.
fn matches(pattern: &str, text: &str) -> bool {
    let letters =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    match pattern {
        "^[A-Za-z0-9_-]+$" => letters,
        "^(?!.*_error$)[A-Za-z0-9_-]+$" => letters && !text.ends_with("_error"),
        "^(?!(maxwell|mutual)$)(?!.*_error$)[A-Za-z0-9_-]+$" => {
            letters && !text.ends_with("_error") && !["maxwell", "mutual"].contains(&text)
        }
        target if target.starts_with(r"^\s*(all|C|") => text.parse::<farad::Target>().is_ok(),
        swept if swept.contains("relative_permittivity") => {
            text == "medium.relative_permittivity"
                || text.starts_with("dielectric.") && text.ends_with(".relative_permittivity")
        }
        other => panic!("the pattern {other} is not known here"),
    }
}

fn json_of(text: &str) -> Value {
    serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
}

fn is_read(text: &str) -> bool {
    parse(Path::new("case.toml"), text, &Overrides::default()).is_ok()
}

#[test]
fn all_cases_fit_the_json_schema() {
    let schema = json_schema();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|ending| ending == "toml") {
            count += 1;
            assert!(fits(&schema, &json_of(&fs::read_to_string(&file).unwrap())), "{file:?}");
        }
    }
    assert!(count > 5);
}

/// Cargo.toml stands for files that are there.
const HEAD: &str = "format = 1\n[mesh]\nfile = \"Cargo.toml\"\nunit = \"mm\"\n";

#[test]
fn the_json_schema_takes_what_the_reader_takes() {
    let schema = json_schema();
    for body in [
        "",
        "ignore = [\"a\"]\nsmooth = 60\nlenient = true\n[fmm]\ntolerance = 1e-8",
        "[medium]\nrelative_permittivity = 2\n[solver]\naccuracy = 1e-2\naccuracy_of = \"C(a, b)\"\nmax_time = 60\nnets = \"a\"",
        "[stack]\naxis = \"x\"\nbelow = \"ground\"\nabove = 2\n[[layer]]\nthickness = 1\nrelative_permittivity = 3\n[[plane]]\naxis = \"z\"\nkind = \"ground\"",
        "[[dielectric]]\nname = \"d\"\nrelative_permittivity = 2\ngroup = [\"a\", \"b\"]\nkappa = 0.1\n[[charge]]\nposition = [0, 0, 0]\ncharge = 1\nunit = \"e\"",
        "[medium]\nionic_strength = 0.1\ntemperature = 300\n[[dielectric]]\nname = \"d\"\nrelative_permittivity = 2\ngroup = \"a\"",
        "[[surface]]\ngroup = \"a\"\nfront = 2",
        "[[conductor]]\nname = \"a\"\ngroup = \"a\"\npotential = 1\n[[probe]]\nname = \"p\"\nlow = [0, 0, 0]\nhigh = [1, 1, 0]\ncounts = [2, 2.0, 1]\n[[probe]]\nname = \"l\"\nfrom = [0, 0, 0]\nto = [1, 1, 0]\ncount = 3",
        "[diffusion]\ntemperature = 300\nviscosity = 1e-3",
        "[output]\ndirectory = \"o\"\nvtk = \"none\"\nvtk_excitations = 3\nvtk_series = true\nforces = true\npolarisability = true\nformats = \"spice\"\nspice_threshold = 0.1",
        "[[reduce]]\nname = \"r\"\nbetween = [\"a\", \"b\"]\n[[reduce]]\nname = \"s\"\ngroup = { v = [\"a\"], w = \"b\" }",
        "[[sensitivity]]\nname = \"s\"\nshift = \"a\"\n[[sensitivity]]\nname = \"t\"\nlayer = 1\nof = \"thickness\"",
        "[[film]]\nname = \"f\"\non = \"a\"\nlayer = 1\nthickness = 1\nrelative_permittivity = 2\n[[film]]\nname = \"g\"\ninterface = 0\nthickness = 1\nrelative_permittivity = 2\ncutoff = 1",
        "[[sweep]]\nname = \"s\"\nset = \"medium.relative_permittivity\"\nvalues = [1, 2]\n[[sweep]]\nname = \"t\"\nturn = \"a\"\naxis = [0, 0, 1]\nvalues = [1]\n[[sweep]]\nname = \"u\"\nfiles = \"Cargo.toml\"",
    ] {
        let text = format!("{HEAD}{body}\n");
        assert!(is_read(&text), "the reader refuses\n{text}");
        assert!(fits(&schema, &json_of(&text)), "the schema refuses\n{text}");
    }
    let molecule = "format = 1\n[[molecule]]\npqr = \"Cargo.toml\"\nname = \"m\"\nsurface = \"vdw\"\nelements = 100\norder = 2\n";
    assert!(fits(&schema, &json_of(molecule)));
}

#[test]
fn the_json_schema_refuses_the_readers_mistakes() {
    let schema = json_schema();
    let dielectric = "[[dielectric]]\nname = \"d\"\nrelative_permittivity = 2\ngroup = \"a\"\n";
    let (conductor, layers) =
        ("[[conductor]]\nname = \"a\"\ngroup = \"a\"\n", "[stack]\nbelow = 2\n");
    let (film, sweep) = ("[[film]]\nname = \"f\"\n", "[[sweep]]\nname = \"s\"\n");
    let thin = "thickness = 1\nrelative_permittivity = 2\n";
    let charge = "[[charge]]\nposition = [0, 0, 0]\ncharge = 1\n";
    let nets = "[solver]\nnets = \"a\"\n";
    let bodies = [
        // Types, ranges, words.
        "smooth = 200".to_owned(),
        "smoth = 20".to_owned(),
        "[solver]\ntolerance = 0.5".to_owned(),
        "[fmm]\ntolerance = 0.5".to_owned(),
        "[solver]\nrestart = 1".to_owned(),
        "[solver]\nrestart = 2.5".to_owned(),
        "[solver]\nmethod = \"fast\"".to_owned(),
        "[solver]\nnets = 3".to_owned(),
        "[solver]\naccuracy_of = \"beauty\"".to_owned(),
        "[solver]\nerror_bars = 1".to_owned(),
        "[output]\nformats = [\"word\"]".to_owned(),
        "[output]\ndirectory = \"\"".to_owned(),
        "[medium]\nrelative_permittivity = \"2\"".to_owned(),
        "[external]\nfield = [0, 1]".to_owned(),
        "[stack]\nbelow = \"air\"".to_owned(),
        "[[mesh2]]\na = 1".to_owned(),
        "[plane]\naxis = \"z\"\nkind = \"ground\"".to_owned(),
        "[[plane]]\naxis = \"z\"".to_owned(),
        // Rules within a table.
        format!("{conductor}potential = 1\ncharge = 1"),
        "[medium]\nkappa = 1\nionic_strength = 1\ntemperature = 300".to_owned(),
        format!("{film}{thin}"),
        format!("{film}{thin}on = \"a\"\ninterface = 0"),
        format!("{film}{thin}on = \"a\"\nmedium = \"b\"\nlayer = 1"),
        format!("{film}{thin}interface = 0\nlayer = 1"),
        format!("{film}on = \"a\"\nthickness = 1"),
        "[[sensitivity]]\nname = \"s\"".to_owned(),
        "[[sensitivity]]\nname = \"s\"\nshift = \"a\"\nlayer = 1".to_owned(),
        "[[sensitivity]]\nname = \"s\"\nshift = \"a\"\nof = \"thickness\"".to_owned(),
        "[[sensitivity]]\nname = \"s_error\"\nshift = \"a\"".to_owned(),
        "[[reduce]]\nname = \"r\"".to_owned(),
        "[[reduce]]\nname = \"r\"\ngrounded = []".to_owned(),
        "[[reduce]]\nname = \"r\"\nbetween = [\"a\"]".to_owned(),
        "[[reduce]]\nname = \"a b\"\ngrounded = \"a\"".to_owned(),
        "[[reduce]]\nname = \"mutual\"\ngrounded = \"a\"".to_owned(),
        format!("{sweep}values = [1]"),
        format!("{sweep}set = \"medium.kappa\"\nvalues = [1]"),
        format!("{sweep}set = \"medium.relative_permittivity\""),
        format!("{sweep}move = \"a\"\nvalues = [1]"),
        format!("{sweep}move = []\nvalues = [1]\nalong = [1, 0, 0]"),
        format!("{sweep}turn = \"a\"\nvalues = [1]"),
        format!("{sweep}turn = \"a\"\nvalues = [1]\naxis = [1, 0]"),
        format!("{conductor}potential = 1\n[[probe]]\nname = \"p\"\nfrom = [0, 0, 0]"),
        format!("{conductor}potential = 1\n[[probe]]\nname = \"p\"\nfile = \"Cargo.toml\"\ncount = 3"),
        format!(
            "{conductor}potential = 1\n[[probe]]\nname = \"p\"\nlow = [0, 0, 0]\nhigh = [1, 1, 1]\ncounts = [2, 0, 2]"
        ),
        // Rules between tables.
        format!("[medium]\nrelative_permittivity = 2\n{layers}"),
        format!("{layers}[external]\nfield = [0, 0, 1]"),
        format!("{layers}{charge}"),
        format!("{layers}[diffusion]\ntemperature = 300\nviscosity = 1"),
        format!("{layers}[output]\npolarisability = true"),
        format!("{layers}[[plane]]\naxis = \"z\"\nat = -9\nkind = \"ground\""),
        "[stack]\nbelow = \"ground\"\nabove = \"ground\"".to_owned(),
        "[[plane]]\naxis = \"z\"\nkind = \"ground\"\n[[plane]]\naxis = \"z\"\nat = 1\nkind = \"ground\"".to_owned(),
        format!("{dielectric}[[surface]]\ngroup = \"b\"\nfront = 2"),
        format!("{charge}[[surface]]\ngroup = \"b\"\nfront = 2"),
        format!("{dielectric}ionic_strength = 0.1\n{charge}"),
        format!("{dielectric}kappa = 0.1\n{charge}{conductor}"),
        format!("{dielectric}kappa = 0.1\n{charge}[output]\nforces = true"),
        "[[probe]]\nname = \"p\"\nfile = \"Cargo.toml\"".to_owned(),
        format!("{nets}[output]\nformats = \"spice\""),
        format!("{nets}[output]\npolarisability = true"),
        format!("{nets}{conductor}potential = 1"),
        format!("{nets}[[reduce]]\nname = \"r\"\ngrounded = \"a\""),
    ];
    let whole = [
        "[mesh]\nfile = \"Cargo.toml\"\nunit = \"mm\"".to_owned(),
        "format = 2\n[mesh]\nfile = \"Cargo.toml\"\nunit = \"mm\"".to_owned(),
        "format = 1".to_owned(),
        "format = 1\n[mesh]\nfile = \"Cargo.toml\"".to_owned(),
        "format = 1\n[mesh]\nsmooth = 60\n[[molecule]]\npqr = \"Cargo.toml\"".to_owned(),
        "format = 1\n[[molecule]]\nname = \"a\"".to_owned(),
        "format = 1\n[[molecule]]\npqr = \"Cargo.toml\"\ndensity = 1\nelements = 100".to_owned(),
    ];
    let bodies = bodies.into_iter().map(|body| format!("{HEAD}{body}"));
    for text in bodies.chain(whole) {
        assert!(!is_read(&text), "the reader takes\n{text}");
        assert!(!fits(&schema, &json_of(&text)), "the schema takes\n{text}");
    }
}
