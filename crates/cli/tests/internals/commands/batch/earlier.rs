use std::fs;
use std::time::Duration;

use farad_cli::internals::batch::{Done, Row, checkpoint, earlier};
use farad_cli::internals::checkpoint::{Checkpoint, Inputs};
use farad_cli::internals::files::temporary_name;
use farad_cli::internals::output::Output;
use farad_cli::internals::series::Rows;
use farad_cli::internals::temporaries::Temporary;

#[test]
fn rows_of_all_ranks_are_read_again_bit_by_bit() {
    let folder = std::env::temp_dir().join(temporary_name(None));
    fs::create_dir(&folder).unwrap();
    let folder = Temporary::new(folder);
    let batch = folder.path();
    let output = Output { quiet: true, json: false, verbose: false };
    assert!(earlier(batch, &output).is_empty());
    let done = |index: usize| {
        let mut row = Row::pending(&format!("m{index}"), "m.pqr".to_owned());
        row.status = "complete".to_owned();
        row.solvation_kcal_per_mol = Some(-1.0 / (index + 3) as f64);
        Done { row, is_solved: true, failed: None }
    };
    for own in [&[4][..], &[1, 2]] {
        let checkpoint = checkpoint(batch, &output).unwrap();
        let mut rows = Rows::new(5, Some(&checkpoint), |index| format!("molecule-{index}"));
        for &index in own {
            rows.add(index, done(index), None);
            rows.write();
        }
    }
    let rows = earlier(batch, &output);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["m1", "m2", "m4"]);
    let energies: Vec<_> = rows.iter().map(|row| row.solvation_kcal_per_mol).collect();
    assert_eq!(energies, [1, 2, 4].map(|index| Some(-1.0 / (index + 3) as f64)));
    // Damaged rows are left out.
    fs::write(batch.join(".farad-checkpoint/molecule-2"), "damaged").unwrap();
    assert_eq!(earlier(batch, &output).len(), 2);
    // So is a checkpoint of another command.
    fs::remove_dir_all(batch.join(".farad-checkpoint")).unwrap();
    let inputs = Inputs(vec![("the case".to_owned(), 1)]);
    let other = Checkpoint::join(batch, inputs, Duration::ZERO, &output).unwrap();
    other.put("molecule-1", &1);
    other.write_all();
    assert!(earlier(batch, &output).is_empty());
}
