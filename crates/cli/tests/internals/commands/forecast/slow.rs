use farad_cli::internals::forecast::{Cost, Known, carried_on};

#[test]
fn powers_of_triangles_and_what_excitations_add_are_carried_on() {
    let known = |panels: f64, excited: f64| {
        let seconds = 1e-6 * panels * panels * (3.0 + excited);
        let bytes = Some(8.0 * panels * panels + 100.0 * panels * excited);
        Known { panels, excited, cost: Cost { seconds, bytes } }
    };
    let by_size = [known(100.0, 8.0), known(200.0, 8.0)];
    let by_excitations = [known(200.0, 8.0), known(200.0, 16.0), known(200.0, 32.0)];
    let whole = [3000.0, 500.0];
    let found = carried_on(&by_size, &by_excitations, whole, 3.0);
    let expected = known(whole[0], whole[1]).cost;
    assert!((found.seconds / expected.seconds - 1.0).abs() < 1e-9, "{found:?} {expected:?}");
    let ratio = found.bytes.unwrap() / expected.bytes.unwrap();
    // That excitations count among the bytes of the pieces that tell the power lessens it.
    assert!((0.5..1.0).contains(&ratio), "{ratio}");
    // What pairs of excitations take is found from three pieces.
    let pairs = |panels: f64, excited: f64| {
        let mut known = known(panels, excited);
        known.cost.seconds += 1e-6 * panels * panels * excited * excited;
        known
    };
    let by_size = [pairs(100.0, 8.0), pairs(200.0, 8.0)];
    let by_excitations = [pairs(200.0, 8.0), pairs(200.0, 16.0), pairs(200.0, 32.0)];
    let found = carried_on(&by_size, &by_excitations, whole, 3.0);
    let ratio = found.seconds / pairs(whole[0], whole[1]).cost.seconds;
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    // One piece, and no more excitations than it has.
    let one = [known(200.0, 8.0)];
    let found = carried_on(&one, &one, [400.0, 8.0], 2.0);
    assert!((found.seconds / known(400.0, 8.0).cost.seconds - 1.0).abs() < 1e-9);
}
