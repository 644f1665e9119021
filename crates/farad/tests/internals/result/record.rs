//! Solutions as other programs read them.

use farad::{CapacitanceMatrix, Key, Labelled, LengthUnit, MANY, Matrices, Record, Unit};
use serde_json::{Value, json};

use super::quantities::solved;

/// Whatever a number is read from, it is the same with the same bar.
#[test]
fn records_have_the_numbers_and_bars_of_the_list() {
    for error_bars in [true, false] {
        let solution = solved(error_bars);
        let (capacitance, reduced) = (solution.capacitance(), solution.reduced());
        let record = Record::new(&solution, capacitance, reduced, 300.0, Vec::new());
        let record = serde_json::to_value(&record).unwrap();
        let read = |value: &str, bar: &str| {
            let [value, bar] = [value, bar].map(|pointer| record.pointer(pointer).unwrap());
            (value.as_f64().unwrap(), bar.as_f64())
        };
        for (key, found) in solution.quantities() {
            let (value, bar) = match &key {
                Key::Potential { .. } => {
                    read("/charges/1/potential_v", "/charges/1/potential_error_v")
                }
                Key::Charge { .. } => read("/charges/0/charge_c", "/charges/0/charge_error_c"),
                Key::SolvationEnergy => {
                    read("/solvation/energy_kcal_per_mol", "/solvation/energy_error_kcal_per_mol")
                }
                Key::Force { body, axis } => {
                    let body = if body == "a" { 0 } else { 1 };
                    read(
                        &format!("/forces/{body}/force_n/{}", axis.index()),
                        &format!("/forces/{body}/force_error_n"),
                    )
                }
                Key::Polarisability { moment, .. } => {
                    let entry = format!("{0}/{0}", moment.index());
                    let bar = match error_bars {
                        true => format!("/polarisability/over_4pi_eps0_error/{entry}"),
                        false => "/polarisability/over_4pi_eps0_error".to_owned(),
                    };
                    read(&format!("/polarisability/over_4pi_eps0/{entry}"), &bar)
                }
                Key::Between { .. } => {
                    read("/reductions/1/between_farad", "/reductions/1/between_farad_error")
                }
                _ => continue,
            };
            assert_eq!((value, bar), (found.value, found.bar), "{key}");
            assert_eq!(bar.is_some(), error_bars, "{key}");
        }
        assert_eq!(record["probes"], Value::Null);
        assert_eq!(record["solvation"]["temperature_k"], 300.0);
    }
}

#[test]
fn matrices_of_many_conductors_have_one_form() {
    let written = |count: usize| {
        let names: Vec<String> = (0..count).map(|k| format!("net{k}")).collect();
        let (rows, unit) = (vec![vec![1.0; count]; count], LengthUnit::Metre);
        let values = Matrices::new(&rows, &(0..count).collect::<Vec<_>>(), 1.0, unit);
        let (conductors, bars) = (names.clone(), Some(values.clone()));
        let columns = names;
        serde_json::to_value(CapacitanceMatrix { conductors, columns, unit, values, bars }).unwrap()
    };
    let [few, many] = [MANY, MANY + 1].map(written);
    for key in ["maxwell_farad", "maxwell_farad_error"] {
        assert_eq!(few[key].as_array().unwrap().len(), MANY);
        assert_eq!(many[key].as_array().unwrap().len(), MANY + 1);
    }
    for key in ["mutual_farad", "maxwell_over_4pi_eps0"] {
        for key in [key.to_owned(), format!("{key}_error")] {
            assert!(few[&key].is_array() && many[&key].is_null(), "{key}");
        }
    }
    assert_eq!(many["relative_asymmetry"], json!(0.0));
}

#[test]
fn matrices_say_which_bars_are_known() {
    let names = ["a", "b"].map(str::to_owned);
    let (values, bars) =
        ([vec![1.0, -3.0], vec![-2.0, 2.0]], [vec![0.1, f64::NAN], vec![0.2, 0.3]]);
    let unit = Unit::FaradPerMetre;
    let matrix =
        Labelled { rows: &names, columns: &names, values: &values, bars: Some(&bars), unit };
    assert_eq!((matrix.largest(), matrix.unit.as_str()), (3.0, "F/m"));
    assert_eq!([matrix.bar(0, 0), matrix.bar(0, 1), matrix.bar(2, 0)], [Some(0.1), None, None]);
    let own = matrix.of_bars().unwrap();
    assert_eq!((own.values[1][1], own.bars, own.of_bars()), (0.3, None, None));
}
