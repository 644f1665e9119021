use mesh::internals::wording::counted;

#[test]
fn one_is_singular() {
    let edges = |number| counted(number, "edge is", "edges are");
    assert_eq!([0, 1, 2].map(edges), ["0 edges are", "1 edge is", "2 edges are"]);
}
