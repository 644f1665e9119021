//! Numbers and words in sentences, and notes that several formats have.

/// "1 edge was" and "2 edges were": the number with the words that go with it.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The note about split quadrangles, in every format.
pub fn note_split(quadrangles: usize) -> String {
    counted(
        quadrangles,
        "quadrangle is split along its shorter diagonal",
        "quadrangles are split along their shorter diagonals",
    )
}

/// A word for messages, shortened, in quotes.
pub fn quoted(word: &[u8]) -> String {
    const LONGEST: usize = 24;
    let shown = String::from_utf8_lossy(&word[..word.len().min(LONGEST)]);
    let shown: String = shown.chars().flat_map(char::escape_debug).collect();
    if word.len() > LONGEST { format!("\"{shown}...\"") } else { format!("\"{shown}\"") }
}
