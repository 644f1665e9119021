use farad_cli::internals::batch::bar;

#[test]
fn a_bar_is_twice_the_error_of_the_second_order() {
    let energy = |triangles: f64| -100.0 + 300.0 / triangles;
    let found = bar([energy(25.0), energy(50.0)], energy(100.0));
    assert!((found - 6.0).abs() < 1e-12);
    // Equal by chance on the two finer ones.
    assert_eq!(bar([-90.0, -95.0], -95.0), 5.0);
}
