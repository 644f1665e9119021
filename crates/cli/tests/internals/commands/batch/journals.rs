use farad_cli::internals::batch::Row;
use farad_cli::internals::files::temporary_name;
use farad_cli::internals::journals::{Done, FOLDER, are_in, make, read, remove, write};

#[test]
fn rows_of_all_ranks_are_read_again_bit_by_bit() {
    let batch = std::env::temp_dir().join(temporary_name(None));
    assert!(read(&batch).is_empty() && !are_in(&batch));
    make(&batch).unwrap();
    assert!(are_in(&batch));
    let done = |index: usize| {
        let mut row = Row::pending(&format!("m{index}"), "m.pqr".to_owned());
        row.solvation_kcal_per_mol = Some(-1.0 / (index + 3) as f64);
        Done { index, row, is_solved: true, failed: None }
    };
    write(&batch, 1, &[done(4)]).unwrap();
    write(&batch, 0, &[done(1)]).unwrap();
    // Again, when there is more.
    write(&batch, 0, &[done(1), done(2)]).unwrap();
    let rows = read(&batch);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["m1", "m2", "m4"]);
    let energies: Vec<_> = rows.iter().map(|row| row.solvation_kcal_per_mol).collect();
    assert_eq!(energies, [1, 2, 4].map(|index| Some(-1.0 / (index + 3) as f64)));
    // What was cut short is left out.
    std::fs::write(batch.join(FOLDER).join("2.json"), "[{").unwrap();
    assert_eq!(read(&batch).len(), 3);
    remove(&batch);
    assert!(!are_in(&batch));
    std::fs::remove_dir(&batch).unwrap();
}
