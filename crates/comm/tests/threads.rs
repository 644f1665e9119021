//! Ranks that are threads.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod checks;

use comm::{Error, run};

#[test]
fn ranks_have_what_is_asked_of_all() {
    for size in [1, 2, 3, 7] {
        for (_, check) in checks::ALL {
            run(size, |rank| check(&**rank, 300));
        }
    }
}

#[test]
fn ranks_learn_that_another_has_ended() {
    let found = run(3, |rank| (rank.rank() != 2).then(|| rank.all_gather(&[])));
    assert_eq!(
        found,
        [Some(Err(Error::Ended { rank: 2 })), Some(Err(Error::Ended { rank: 2 })), None]
    );
}
