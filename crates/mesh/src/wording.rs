//! Numbers in sentences.

/// "1 edge was" and "2 edges were": the number with the words that go with it.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_is_singular() {
        let edges = |number| super::counted(number, "edge is", "edges are");
        assert_eq!([0, 1, 2].map(edges), ["0 edges are", "1 edge is", "2 edges are"]);
    }
}
