//! Names of numbers.

use farad::{Axis, Key, MatrixEntry};

/// One key of each kind, with names that no reader could take apart, and its name.
fn all() -> Vec<(Key, &'static str)> {
    let a = || "p (left), x".to_owned();
    let entry = |is_only| MatrixEntry { row: a(), column: "b".to_owned(), is_only };
    let (axis, reduction, probe) = (Axis::Z, "r".to_owned(), "up".to_owned());
    let nets = [a(), "b".to_owned()];
    vec![
        (Key::Capacitance(entry(false)), "C(p (left), x, b)"),
        (Key::Capacitance(entry(true)), "C"),
        (Key::Potential { conductor: a() }, "V(p (left), x)"),
        (Key::Charge { conductor: a() }, "Q(p (left), x)"),
        (Key::SolvationEnergy, "solvation energy"),
        (Key::CoulombEnergy, "Coulomb energy"),
        (Key::TotalEnergy, "total energy"),
        (Key::Force { body: a(), axis }, "Fz(p (left), x)"),
        (Key::ForceSize { body: a() }, "F(p (left), x)"),
        (Key::ProbePotential { probe: probe.clone(), point: 1 }, "potential at up, point 1"),
        (Key::ProbeField { probe, point: 12 }, "field at up, point 12"),
        (Key::Polarisability { moment: Axis::X, field: Axis::Y }, "polarisability xy/(4 pi eps0)"),
        (
            Key::Participation { film: "oxide".to_owned(), conductor: a() },
            "participation of oxide, p (left), x",
        ),
        (
            Key::Reduced { reduction: reduction.clone(), entry: entry(false) },
            "r: C(p (left), x, b)",
        ),
        (Key::Reduced { reduction: reduction.clone(), entry: entry(true) }, "r: C"),
        (Key::Between { reduction, nets }, "r: C between p (left), x and b"),
    ]
}

#[test]
fn keys_have_the_names_that_tables_and_files_have() {
    for (key, name) in all() {
        assert_eq!(key.to_string(), name);
    }
}

#[test]
fn keys_come_back_from_what_is_kept_of_them() {
    for (key, name) in all() {
        let kept = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<Key>(&kept).unwrap(), key, "{name}");
    }
}

#[test]
fn axes_are_counted_from_0() {
    assert_eq!(Axis::ALL.map(Axis::index), [0, 1, 2]);
    assert_eq!(Axis::ALL.map(|axis| axis.to_string()), ["x", "y", "z"]);
}
