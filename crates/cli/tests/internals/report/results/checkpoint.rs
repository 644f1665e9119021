use std::fs;
use std::path::Path;
use std::time::Duration;

use bem::CheckpointStore;
use farad_cli::internals::checkpoint::{Checkpoint, Inputs, framed, parsed};
use farad_cli::internals::exit::{Exit, Failure};
use farad_cli::internals::files::temporary_name;
use farad_cli::internals::output::Output;
use farad_cli::internals::temporaries::Temporary;

/// A folder that is removed at the end.
fn folder() -> Temporary {
    let path = std::env::temp_dir().join(temporary_name(None));
    fs::create_dir(&path).unwrap();
    Temporary::new(path)
}

/// A rank's checkpoint in a folder, which the first opens.
fn of_rank(path: &Path, case: u64, rank: usize) -> Result<Checkpoint, Failure> {
    let inputs = Inputs(vec![("the case".to_owned(), case)]);
    let output = Output { quiet: true, json: false, verbose: false };
    match rank {
        0 => Checkpoint::open(path, inputs, true, Duration::ZERO, &output),
        _ => Checkpoint::join(path, inputs, Duration::ZERO, &output),
    }
}

#[test]
fn ranks_add_parts_and_remove_charges_of_their_own_alone() {
    let folder = folder();
    let path = folder.path();
    let open = || [0, 1].map(|rank| of_rank(path, 1, rank).unwrap());
    let ranks = open();
    for (rank, run) in ranks.iter().zip([3, 8]) {
        rank.begin(run, |_| false);
        rank.store(run as u64, vec![run as f64]);
        rank.put(&format!("run{run}"), &(run, 0.5));
        rank.write_all();
    }
    drop(ranks);
    // Of what both find there, each removes what is over for it.
    let ranks = open();
    ranks[0].begin(4, |run| run == 3);
    let found = [(3, 3), (8, 8)].map(|(run, equations)| {
        ranks[1].begin(run, |_| false);
        ranks[1].load(equations)
    });
    assert_eq!(found, [None, Some(vec![8.0])]);
    let first = &ranks[0];
    assert_eq!(first.parts(), ["run3", "run8"]);
    assert_eq!(first.take("run8"), Some((8_usize, 0.5)));
    assert_eq!(first.take::<(usize, f64)>("run8"), None, "it is given once");
    // One process has the parts of both; none has those of another case.
    let [alone, _] = open();
    assert_eq!(alone.take("run3"), Some((3_usize, 0.5)));
    for rank in [0, 1] {
        assert_eq!(of_rank(path, 2, rank).unwrap_err().exit, Exit::BadInput);
    }
}

#[test]
fn an_input_that_is_bad_leaves_no_checkpoint() {
    let folder = folder();
    let run = of_rank(folder.path(), 1, 0).unwrap();
    let is_empty = || fs::read_dir(folder.path()).unwrap().next().is_none();
    run.put("run1", &1);
    run.write_all();
    run.discard_after(&Failure::interrupted());
    assert!(!is_empty());
    let error = bem::Error::Length { what: "weights", expected: 1, found: 2 };
    run.discard_after(&error.into());
    assert!(is_empty());
    // Where a run goes on after all, it begins a new one.
    run.put("run2", &2);
    run.write_all();
    drop(run);
    assert_eq!(of_rank(folder.path(), 1, 0).unwrap().take("run2"), Some(2));
}

#[test]
fn an_interrupted_rank_says_how_to_go_on_where_another_has_kept_something() {
    let folder = folder();
    let [first, other] = [0, 1].map(|rank| of_rank(folder.path(), 1, rank).unwrap());
    let advice = |failure| first.advise(failure).report.map(|report| report.help().is_some());
    assert_eq!(advice(Failure::interrupted()), Some(false), "there is nothing");
    other.put("run1", &1);
    other.write_all();
    assert_eq!(advice(Failure::interrupted()), Some(true));
    let untold = Failure { report: None, ..Failure::interrupted() };
    assert_eq!(advice(untold), None, "another rank tells why");
}

#[test]
fn numbers_return_with_every_bit() {
    let folder = folder();
    let open = || of_rank(folder.path(), 1, 0).unwrap();
    let signalling = f64::from_bits(0x7ff0_0000_0000_0001);
    let numbers = vec![1.0, -0.5, f64::NAN, -f64::NAN, signalling, 1e-300, -0.0, f64::MAX];
    let first = open();
    first.put("run1", &(Some(f64::NAN), numbers.clone()));
    first.store(7, numbers.clone());
    first.write_all();
    drop(first);
    let bits = |numbers: &[f64]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
    let again = open();
    let (bar, part): (Option<f64>, Vec<f64>) = again.take("run1").unwrap();
    assert_eq!(bar.map(f64::to_bits), Some(f64::NAN.to_bits()));
    assert_eq!(bits(&part), bits(&numbers));
    assert_eq!(bits(&again.load(7).unwrap()), bits(&numbers));
}

#[test]
fn a_checkpoint_of_another_version_is_not_read() {
    let folder = folder();
    let open = || of_rank(folder.path(), 1, 0).unwrap();
    let first = open();
    first.put("run1", &1);
    first.write_all();
    drop(first);
    let manifest = folder.path().join(".farad-checkpoint/inputs");
    let bytes = fs::read(&manifest).unwrap();
    assert!(bytes.starts_with(b"farad-checkpoint/03\n"));
    // The format before had the lengths of a text and of numbers, and an older version's number.
    fs::write(&manifest, [b"farad-checkpoint/02\n", &bytes[20..]].concat()).unwrap();
    assert_eq!(open().take::<i32>("run1"), None);
    assert!(!manifest.exists(), "it is removed");
}

#[test]
fn whatever_is_damaged_is_not_read() {
    let bytes = framed("charges-0-1", 7, b"content");
    assert_eq!(parsed("charges-0-1", &bytes), Some((7, &b"content"[..])));
    assert!(parsed("charges-0-2", &bytes).is_none(), "under another name");
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            assert!(parsed("charges-0-1", &damaged).is_none(), "byte {place}");
        }
        assert!(parsed("charges-0-1", &bytes[..place]).is_none(), "{place} bytes");
    }
}
