use approx::assert_relative_eq;
use farad::internals::hydrodynamics::{eigenvalues, prefactor, viscosity};
use farad::{LengthUnit, Polarisability};

#[test]
fn eigenvalues_are_those_of_a_turned_diagonal() {
    // Turned by 30 degrees about z, then by 45 about x.
    let turn = |a: [[f64; 3]; 3], b: [[f64; 3]; 3]| -> [[f64; 3]; 3] {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
    };
    let (c, s, h) = (0.75f64.sqrt(), 0.5, 0.5f64.sqrt());
    let r = turn(
        [[1.0, 0.0, 0.0], [0.0, h, -h], [0.0, h, h]],
        [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]],
    );
    let transposed = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
    let diagonal = [[1.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 2.0]];
    let mut found = eigenvalues(turn(turn(r, diagonal), transposed));
    found.sort_by(f64::total_cmp);
    for (found, expected) in found.into_iter().zip([1.0, 2.0, 5.0]) {
        assert_relative_eq!(found, expected, max_relative = 1e-12);
    }
}

/// Spheroids twice as long as wide: 2.908 by H. A. Scheraga, J. Chem. Phys. 23 (1955) 1526, and
/// polarisabilities over the volume of one over their depolarisation factors.
#[test]
fn spheroids_have_their_viscosity() {
    let eccentricity = 0.75f64.sqrt();
    let logarithm = ((1.0 + eccentricity) / (1.0 - eccentricity)).ln();
    let along = 0.25 / 0.75 * (logarithm / (2.0 * eccentricity) - 1.0);
    let axes = [along, (1.0 - along) / 2.0, (1.0 - along) / 2.0].map(|factor| 1.0 / factor);
    let found = prefactor(axes) * axes.iter().sum::<f64>() / 3.0;
    assert_relative_eq!(found, 2.908, max_relative = 5e-3);
}

/// Spheroids half as long as wide, by the same.
#[test]
fn oblate_spheroids_have_their_viscosity() {
    let root = 3f64.sqrt();
    let along = 4.0 / (3.0 * root) * (root - std::f64::consts::FRAC_PI_3);
    let axes = [along, (1.0 - along) / 2.0, (1.0 - along) / 2.0].map(|factor| 1.0 / factor);
    let found = prefactor(axes) * axes.iter().sum::<f64>() / 3.0;
    assert_relative_eq!(found, 2.8546, max_relative = 1e-4);
}

/// Bodies of three different axes: the approximant as it is published, in arithmetic of its own
/// outside of this program; every factor and rate counts in some of them.
#[test]
fn the_prefactor_is_that_of_its_table() {
    let known = [
        ([1.0, 1.5, 2.5], 0.826_111_334_568),
        ([7.1, 1.0, 2.3], 0.804_641_773_087),
        ([1.0, 9.0, 1.2], 0.787_272_414_009),
        ([1.0, 6.0, 11.0], 0.807_540_943_644),
        ([1.3, 1.05, 1.0], 0.832_496_616_303),
        ([1.0, 4.0, 60.0], 0.769_127_464_542),
    ];
    for (axes, expected) in known {
        assert_relative_eq!(prefactor(axes), expected, max_relative = 1e-10);
    }
}

/// Spheres by Einstein: 5/2 = 5/6 * 3. For needles the prefactor tends to 4/5, by the powers.
#[test]
fn the_prefactor_has_its_limits() {
    assert_relative_eq!(prefactor([2.0; 3]), 5.0 / 6.0, max_relative = 1e-12);
    assert_relative_eq!(prefactor([1.0, 1.0, 1e40]), 0.8, max_relative = 1e-2);
    let unit = LengthUnit::Nanometre;
    let sphere = Polarisability::new([[8.0, 0.0, 0.0], [0.0, 8.0, 0.0], [0.0, 0.0, 8.0]], unit);
    let found = viscosity(&sphere, 4.0 / 3.0 * std::f64::consts::PI * 8.0, unit);
    assert_relative_eq!(found.intrinsic_conductivity, 3.0, max_relative = 1e-12);
    assert_relative_eq!(found.intrinsic_viscosity, 2.5, max_relative = 1e-12);
    assert_relative_eq!(found.viscometric_radius, 2.0, max_relative = 1e-12);
    // Files have metres alone, tables the problem's unit.
    assert_relative_eq!(found.viscometric_radius_m, 2e-9, max_relative = 1e-12);
    assert_relative_eq!(found.volume_m3, 1e-27 * found.volume, max_relative = 1e-12);
}
