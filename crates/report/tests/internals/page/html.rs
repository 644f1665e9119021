use report::internals::html::{escape, script_json, table};

#[test]
fn text_is_never_markup() {
    let hostile = "</script><img src=x onerror=\"a('b')\">&\u{1b}[0m\u{202e}";
    let shown = escape(hostile);
    assert!(!shown.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}']), "{shown}");
    assert!(shown.starts_with("&lt;/script&gt;&lt;img") && shown.contains("&amp;"));
    let json = script_json(&hostile);
    assert!(!json.contains(['<', '>', '&']), "{json}");
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    let table = table(&["<a>".to_owned()], [vec!["<b>".to_owned()]]).into_text();
    assert!(table.contains("&lt;a&gt;") && table.contains("&lt;b&gt;"));
}
