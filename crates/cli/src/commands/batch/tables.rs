//! The tables of a batch, as CSV and for people.

use super::difference::Found;
use super::rows::Row;
use crate::report::results::{csv_number, csv_table};
use crate::report::text::csv_quoted;
use crate::report::text_table::aligned_table;
use crate::report::units::{self, duration, significant, with_bar};

/// Heads of the columns of energies as CSV.
const ENERGIES: [&str; 4] = [
    "solvation energy [kcal/mol]",
    "solvation energy error [kcal/mol]",
    "Coulomb energy [kcal/mol]",
    "total energy [kcal/mol]",
];

/// The values of two rows' solvation and total energies that differ.
fn differences(row: &Row, reference: &Row) -> [Option<f64>; 2] {
    let of = |value: fn(&Row) -> Option<f64>| Some(value(row)? - value(reference)?);
    [of(|row| row.solvation_kcal_per_mol), of(|row| row.total_kcal_per_mol)]
}

/// Whether hydrodynamic properties were asked for.
fn has_bodies(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.hydrodynamic_radius_m.is_some())
}

/// The table as CSV.
pub(super) fn csv(rows: &[Row], reference: Option<usize>) -> String {
    let names = "name,pqr,status,atoms,charge [e],triangles";
    let mut header: Vec<String> = names.split(',').chain(ENERGIES).map(str::to_owned).collect();
    if let Some(reference) = reference {
        let name = &rows[reference].name;
        header.extend(
            ["solvation", "total"].map(|energy| {
                csv_quoted(&format!("{energy} energy minus that of {name} [kcal/mol]"))
            }),
        );
    }
    let has_bodies = has_bodies(rows);
    let bodies = ["hydrodynamic radius [m]", "diffusion [m^2/s]", "intrinsic viscosity"];
    header.extend(bodies.iter().filter(|_| has_bodies).map(ToString::to_string));
    header.extend(["seconds", "message"].map(str::to_owned));
    let count = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
    let row = |row: &Row| {
        let mut cells = vec![
            row.name.clone(),
            csv_quoted(&row.pqr),
            row.status.clone(),
            count(row.atoms),
            row.charge_e.map_or_else(String::new, |charge| format!("{charge:.4}")),
            count(row.triangles),
            csv_number(row.solvation_kcal_per_mol),
            csv_number(row.solvation_error_kcal_per_mol),
            csv_number(row.coulomb_kcal_per_mol),
            csv_number(row.total_kcal_per_mol),
        ];
        if let Some(reference) = reference {
            cells.extend(differences(row, &rows[reference]).map(csv_number));
        }
        if has_bodies {
            let body = [row.hydrodynamic_radius_m, row.diffusion_m2_per_s, row.intrinsic_viscosity];
            cells.extend(body.map(csv_number));
        }
        cells.push(row.seconds.map_or_else(String::new, |seconds| format!("{seconds:.3}")));
        let message = row.message.as_deref().unwrap_or_default().replace('\n', " ");
        cells.push(if message.is_empty() { message } else { csv_quoted(&message) });
        cells
    };
    csv_table(header, rows.iter().map(row))
}

/// The differences as CSV.
pub(super) fn csv_of_differences(differences: &[Found]) -> String {
    let header = ["name", "terms"].into_iter().chain(ENERGIES).map(str::to_owned).collect();
    let row = |difference: &Found| {
        vec![
            csv_quoted(&difference.name),
            csv_quoted(&difference.terms),
            csv_number(difference.solvation_kcal_per_mol),
            csv_number(difference.solvation_error_kcal_per_mol),
            csv_number(difference.coulomb_kcal_per_mol),
            csv_number(difference.total_kcal_per_mol),
        ]
    };
    csv_table(header, differences.iter().map(row))
}

/// The table for people, energies in kcal/mol.
pub(super) fn text(rows: &[Row], reference: Option<usize>) -> String {
    let mut header: Vec<String> = [
        "molecule",
        "atoms",
        "charge / e",
        "triangles",
        "solvation / kcal/mol",
        "Coulomb",
        "total",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(reference) = reference {
        let name = &rows[reference].name;
        header.extend([format!("solvation - {name}"), format!("total - {name}")]);
    }
    let has_bodies = has_bodies(rows);
    if has_bodies {
        let of_body = ["radius / nm", "diffusion / m^2/s", "[eta]"];
        header.extend(of_body.map(str::to_owned));
    }
    header.extend(["time", "status"].map(str::to_owned));
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
    let count = |value: Option<usize>| {
        value.map_or_else(|| "-".to_owned(), |value| units::count(value as u64))
    };
    let row = |row: &Row| {
        let solvation = row.solvation_kcal_per_mol.map_or_else(
            || "-".to_owned(),
            |value| with_bar(value, row.solvation_error_kcal_per_mol),
        );
        let mut cells = vec![
            row.name.clone(),
            count(row.atoms),
            row.charge_e.map_or_else(|| "-".to_owned(), |charge| format!("{charge:.3}")),
            count(row.triangles),
            solvation,
            number(row.coulomb_kcal_per_mol),
            number(row.total_kcal_per_mol),
        ];
        if let Some(reference) = reference {
            cells.extend(differences(row, &rows[reference]).map(number));
        }
        if has_bodies {
            cells.push(number(row.hydrodynamic_radius_m.map(|metres| metres * 1e9)));
            cells.push(number(row.diffusion_m2_per_s));
            cells.push(number(row.intrinsic_viscosity));
        }
        cells.push(row.seconds.map_or_else(|| "-".to_owned(), duration));
        cells.push(row.status.replace('_', " "));
        cells
    };
    aligned_table(header, rows.iter().map(row))
}

/// The differences for people.
pub(super) fn text_of_differences(found: &[Found]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
    let row = |found: &Found| {
        let solvation = found.solvation_kcal_per_mol.map_or_else(
            || "-".to_owned(),
            |value| with_bar(value, found.solvation_error_kcal_per_mol),
        );
        let (coulomb, total) = (found.coulomb_kcal_per_mol, found.total_kcal_per_mol);
        vec![format!("{} = {}", found.name, found.terms), solvation, number(coulomb), number(total)]
    };
    let header = ["difference", "solvation / kcal/mol", "Coulomb", "total"].map(str::to_owned);
    format!("\n{}", aligned_table(header.to_vec(), found.iter().map(row)))
}
