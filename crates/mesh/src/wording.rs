//! Numbers in sentences.

/// "1 edge was" and "2 edges were": the number with the words that go with it.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
