use farad_cli::internals::json;

#[test]
fn rows_of_matrices_are_lines() {
    let document = serde_json::json!({
        "a": [[1.5, 2], [-3, null]], "b": {}, "c": [], "d": {"e": ["x", "y"]}, "f": [{"g": [[1]]}, {}]
    });
    let text = json::text(&document);
    let expected = "{\n  \"a\": [\n    [1.5,2],\n    [-3,null]\n  ],\n  \"b\": {},\n  \"c\": [],\n  \
        \"d\": {\n    \"e\": [\"x\",\"y\"]\n  },\n  \
        \"f\": [\n    {\n      \"g\": [\n        [1]\n      ]\n    },\n    {}\n  ]\n}\n";
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
}
