use fmm::internals::direct::at;
use fmm::internals::screened::Screening;

#[test]
fn sums_scale_with_coordinates_of_any_size() {
    let sum = |size: f64, kappa: f64| {
        let sources = [[3.0, 0.0, 0.0], [0.0, 4.0, 0.0], [-1.0, 1.0, 2.0]];
        let sources = sources.map(|x| x.map(|x| x * size));
        let (charges, dipoles) = ([1.0, 5.0, 0.0], [0.2 * size; 9]);
        let dipoles = Some(&dipoles[..]);
        let screening = Screening { root: kappa / size };
        let target = [0.0, 4.0 * size, 0.0];
        // Gradients of the smallest are beyond any number.
        let [potential, x, y, z] = at(screening, &target, &sources, Some(&charges), dipoles);
        [potential * size, x * size * size, y * size * size, z * size * size]
    };
    for kappa in [0.0, 0.5] {
        let expected = sum(1.0, kappa);
        for size in [1e-300, 1e-160, 1e-120, 1e-60, 1e60, 1e120, 1e160, 1e300] {
            let found = sum(size, kappa);
            let compared = if (1e-150..1e150).contains(&size) { 4 } else { 1 };
            for (found, expected) in found.iter().zip(&expected).take(compared) {
                assert!((found - expected).abs() < 1e-13, "{size:e} {found} {expected}");
            }
        }
    }
}
