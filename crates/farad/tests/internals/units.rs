use approx::assert_relative_eq;
use farad::LengthUnit;
use farad::units::{count, farads, screening};

#[test]
fn a_sphere_of_one_metre_has_111_picofarad() {
    // 4 pi eps0 = 1e7/c^2 to ten digits (SI 2019), c = 299792458 m/s.
    let expected = 1e7 / 299_792_458.0_f64.powi(2);
    assert_relative_eq!(farads(1.0, LengthUnit::Metre), expected, max_relative = 1e-9);
    assert_relative_eq!(farads(1.0, LengthUnit::Nanometre), 1e-9 * expected, max_relative = 1e-9);
}

#[test]
fn salt_of_a_tenth_of_a_mole_screens_within_a_nanometre() {
    // Debye's length in water at 25 degrees Celsius: 0.304 nm over the root of mol/l.
    let length = 1.0 / screening(0.1, 78.54, 298.15);
    assert_relative_eq!(length, 0.304e-9 / 0.1f64.sqrt(), max_relative = 2e-3);
    let others = [(0.4, 78.54, 298.15, 0.5), (0.1, 4.0 * 78.54, 298.15, 2.0)];
    for (strength, permittivity, temperature, times) in others {
        let found = 1.0 / screening(strength, permittivity, temperature);
        assert_relative_eq!(found, times * length, max_relative = 1e-12);
    }
    let hot = 1.0 / screening(0.1, 78.54, 4.0 * 298.15);
    assert_relative_eq!(hot, 2.0 * length, max_relative = 1e-12);
}

#[test]
fn counts_are_grouped() {
    let grouped = [0, 999, 1000, 1_048_576].map(count);
    assert_eq!(grouped, ["0", "999", "1,000", "1,048,576"]);
}

#[test]
fn every_unit_is_found_by_its_name() {
    for unit in LengthUnit::ALL {
        assert_eq!(LengthUnit::from_name(unit.name()), Some(unit));
    }
    assert_eq!(LengthUnit::from_name("inch"), None);
}
