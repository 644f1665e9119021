//! The JSON schema of case files, which editors check and complete them by.

use serde_json::{Map, Value, json};

use super::choices::AxisIndex;
use super::schema::{Absent, GROUND, Key, Rule, TableInfo, ValueKind};
use super::tables::SCHEMA;
use crate::words::Word as _;

/// A schema of JSON Schema, draft 2020-12.
pub fn json_schema() -> Value {
    let mut schema = table(SCHEMA.top);
    let tables = SCHEMA.tables.iter().map(|info| {
        let items = table(info);
        let value = match info.is_array {
            true => json!({ "type": "array", "items": items }),
            false => items,
        };
        (info.name.to_owned(), value)
    });
    let tables: Map<String, Value> = tables.collect();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.extend(tables);
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Case file of farad".into();
    schema["allOf"] = between_tables().into();
    schema
}

fn table(info: &TableInfo) -> Value {
    let always = info.rules.iter().filter_map(|rule| match rule {
        Rule::Always(keys) => Some(*keys),
        _ => None,
    });
    let is_required = |key: &&Key| key.absent == Absent::Error;
    let mut required: Vec<&str> =
        info.keys.iter().filter(is_required).map(|key| key.name).collect();
    required.extend(always.flatten());
    let properties: Map<String, Value> =
        info.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let rules: Vec<Value> = info.rules.iter().flat_map(rule).collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if !rules.is_empty() {
        schema["allOf"] = rules.into();
    }
    schema
}

/// A key, with its meaning and default as editors show them.
fn property(key: &Key) -> Value {
    let mut schema = kind(key.spec.kind);
    schema["description"] = match key.absent {
        Absent::Error => key.meaning.into(),
        Absent::Conditional(words) => format!("{} ({words})", key.meaning).into(),
        Absent::Default(words) => format!("{} (default: {words})", key.meaning).into(),
    };
    schema
}

fn kind(kind: ValueKind) -> Value {
    let text = || json!({ "type": "string", "minLength": 1 });
    let list =
        |items: Value, least: usize| json!({ "type": "array", "items": items, "minItems": least });
    let number = |low: f64, high: f64| json!({ "type": "number", "minimum": low, "maximum": high });
    let three =
        |items: Value| json!({ "type": "array", "items": items, "minItems": 3, "maxItems": 3 });
    match kind {
        ValueKind::Text | ValueKind::Path => text(),
        ValueKind::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
        ValueKind::Choice(words) => json!({ "enum": words }),
        ValueKind::Choices(words) => {
            let word = json!({ "enum": words });
            json!({ "anyOf": [word, list(word.clone(), 0)] })
        }
        ValueKind::Names { least, most } => {
            let mut names = list(text(), least);
            if most < usize::MAX {
                names["maxItems"] = most.into();
            }
            let one = (least < 2).then(text);
            json!({ "anyOf": one.into_iter().chain([names]).collect::<Vec<_>>() })
        }
        ValueKind::Groups => json!({
            "type": "object",
            "additionalProperties": { "anyOf": [text(), list(text(), 0)] },
        }),
        ValueKind::Numbers { count: None } => list(json!({ "type": "number" }), 1),
        ValueKind::Numbers { .. } => three(json!({ "type": "number" })),
        ValueKind::Counts => {
            three(json!({ "type": "number", "minimum": 1, "maximum": 1e8, "multipleOf": 1 }))
        }
        ValueKind::Number { low, high } => number(low, high),
        ValueKind::NumberOr { low, high, word } => {
            json!({ "anyOf": [number(low, high), { "const": word }] })
        }
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::Vector { high } => three(number(-high, high)),
        ValueKind::Integer { low, high } => {
            json!({ "type": "integer", "minimum": low, "maximum": high })
        }
    }
}

/// A rule between the keys of a table, as schemas that all hold.
fn rule(rule: &Rule) -> Vec<Value> {
    match *rule {
        Rule::OneSet(sets) => {
            let of_set = |set: &&[&str]| {
                let others =
                    sets.iter().filter(|other| other != &set).flat_map(|other| other.iter());
                let others: Vec<Value> = others.map(|key| json!({ "required": [key] })).collect();
                json!({ "required": set, "not": { "anyOf": others } })
            };
            vec![json!({ "oneOf": sets.iter().map(of_set).collect::<Vec<_>>() })]
        }
        Rule::AtMostOne(keys) => vec![json!({ "not": { "required": keys } })],
        Rule::AnyOf(keys) => {
            let filled = |key: &&str| json!({ "required": [key], "properties": { *key: { "not": { "enum": [[], {}] } } } });
            vec![json!({ "anyOf": keys.iter().map(filled).collect::<Vec<_>>() })]
        }
        Rule::Needs(key, others) => vec![json!({ "dependentRequired": { key: others } })],
        // Among the required keys.
        Rule::Always(_) => Vec::new(),
    }
}

/// A case in which a table has a key that fits.
fn with_key(table: &str, key: &str, value: Value) -> Value {
    let inner = json!({ "required": [key], "properties": { key: value } });
    json!({ "required": [table], "properties": { table: inner } })
}

/// A case with one of an array of tables that fits.
fn with_one(table: &str, item: Value) -> Value {
    json!({ "required": [table], "properties": { table: { "contains": item } } })
}

/// A case with a table.
fn with(table: &str) -> Value {
    let is_array = SCHEMA.tables.iter().any(|info| info.name == table && info.is_array);
    let value = if is_array { json!({ "minItems": 1 }) } else { json!(true) };
    json!({ "required": [table], "properties": { table: value } })
}

fn any_of(all: impl IntoIterator<Item = Value>) -> Value {
    json!({ "anyOf": all.into_iter().collect::<Vec<_>>() })
}

fn never_both(a: &Value, b: &Value) -> Value {
    json!({ "not": { "allOf": [a, b] } })
}

/// Rules that hold between tables: those that the reader checks, and `farad::Description::faults`.
fn between_tables() -> Vec<Value> {
    let above_0 =
        |key: &str| json!({ "required": [key], "properties": { key: { "exclusiveMinimum": 0 } } });
    let in_medium = |key: &str| {
        let inside = json!({ "required": ["medium"], "properties": { "medium": above_0(key) } });
        any_of([inside, with_one("dielectric", above_0(key))])
    };
    let is_true = |key: &str| with_key("output", key, json!({ "const": true }));
    let not_empty = || json!({ "not": { "const": [] } });
    let layers = any_of([with("stack"), with("layer")]);
    let field = with_key("external", "field", json!({ "not": { "const": [0, 0, 0] } }));
    let set = any_of(["potential", "charge"].map(|key| json!({ "required": [key] })));
    let state = any_of([with_one("conductor", set), with("charge"), field.clone()]);
    let atoms = with_one("dielectric", json!({ "required": ["charges"] }));
    let atoms = any_of([with("molecule"), atoms]);
    let nets = with_key("solver", "nets", not_empty());
    let of_file =
        json!({ "required": ["mesh"], "properties": { "mesh": { "required": ["file", "unit"] } } });
    let of_files = ["ignore", "stack", "smooth"].map(|key| with_key("mesh", key, json!(true)));
    let without_mesh = json!({ "not": any_of(of_files) });
    let ground = ["below", "above"].map(|key| with_key("stack", key, json!({ "const": GROUND })));

    let mut rules = vec![
        json!({ "if": with("molecule"), "else": of_file }),
        json!({ "if": with_key("mesh", "file", json!(true)), "then": of_file, "else": without_mesh }),
        json!({
            "if": in_medium("ionic_strength"),
            "then": with_key("medium", "temperature", json!(true)),
        }),
        json!({ "if": with("probe"), "then": any_of([state.clone(), atoms]) }),
        json!({ "if": { "allOf": ground }, "then": with("layer") }),
    ];
    let salt = any_of([in_medium("kappa"), in_medium("ionic_strength")]);
    let body = [is_true("polarisability"), with("diffusion")];
    let in_layers = [with("medium"), with("charge"), with("surface"), field.clone()];
    let with_salt = ["conductor", "surface", "plane", "stack", "layer"].map(with);
    let with_salt = with_salt.into_iter().chain([field, is_true("forces")]);
    let with_nets = ["reduce", "sensitivity", "film"].map(with);
    let with_nets =
        with_nets.into_iter().chain([state, with_key("output", "formats", not_empty())]);
    rules.extend(in_layers.iter().chain(&body).map(|other| never_both(&layers, other)));
    rules.extend(with_salt.chain(body.clone()).map(|other| never_both(&salt, &other)));
    rules.extend(with_nets.chain(body).map(|other| never_both(&nets, &other)));
    rules.extend(["dielectric", "charge"].map(|other| never_both(&with("surface"), &with(other))));
    rules.extend(AxisIndex::WORDS.iter().flat_map(|axis| along(axis, &layers)));
    rules
}

/// At most one plane is perpendicular to an axis, and none if layers are.
fn along(axis: &str, layers: &Value) -> [Value; 2] {
    let planes = json!({ "required": ["axis"], "properties": { "axis": { "const": axis } } });
    let one = json!({ "contains": planes, "minContains": 0, "maxContains": 1 });
    let of_layers = with_key("stack", "axis", json!({ "const": axis }));
    let usual = json!({ "not": with_key("stack", "axis", json!(true)) });
    let of_layers = if axis == "z" { any_of([of_layers, usual]) } else { of_layers };
    let in_layers = json!({ "allOf": [layers, of_layers] });
    [json!({ "properties": { "plane": one } }), never_both(&in_layers, &with_one("plane", planes))]
}
