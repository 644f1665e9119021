//! Ranks that are threads.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod checks;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use comm::{Error, once, run, try_once};

#[test]
fn ranks_have_what_is_asked_of_all() {
    for size in [1, 2, 3, 7] {
        for (_, check) in checks::ALL {
            run(size, |rank| check(&**rank, 300));
        }
    }
}

#[test]
fn a_group_of_one_has_what_is_asked_of_all() {
    for (_, check) in checks::ALL {
        check(&comm::Alone::default(), 9000);
    }
}

#[test]
fn a_value_is_made_once_and_had_by_all() {
    let made = AtomicUsize::new(0);
    let all = run(4, |rank| {
        once(&**rank, || {
            made.fetch_add(1, Ordering::Relaxed);
            rank.rank()
        })
        .unwrap()
    });
    assert_eq!(made.into_inner(), 1);
    // Made by the first; one instance, which nobody else holds.
    assert!(all.iter().all(|value| **value == 0 && Arc::ptr_eq(value, &all[0])));
    assert_eq!(Arc::strong_count(&all[0]), 4);
}

#[test]
fn what_fails_to_be_made_has_its_error_where_it_was_tried() {
    let all = run(3, |rank| try_once::<u8, _>(&**rank, || Err("no")).unwrap());
    assert_eq!(all, [Err(Some("no")), Err(None), Err(None)]);
    let all = run(3, |rank| try_once(&**rank, || Ok::<_, ()>(rank.rank())).unwrap());
    assert!(all.iter().all(|made| made.as_deref() == Ok(&0)));
}

#[test]
fn ranks_out_of_step_are_reported() {
    let all = run(2, |rank| match rank.rank() {
        0 => once(&**rank, || 1_u8).map(|_| ()),
        _ => once(&**rank, || "another").map(|_| ()),
    });
    assert_eq!(all, [Ok(()), Err(Error::Value { rank: 0 })]);
}

#[test]
fn ranks_learn_that_another_has_ended_making_a_value() {
    let all = run(3, |rank| match rank.rank() {
        0 => None,
        _ => Some(once(&**rank, || ()).map(|_| ())),
    });
    assert_eq!(
        all[1..],
        [Some(Err(Error::Ended { rank: 0 })), Some(Err(Error::Ended { rank: 0 }))]
    );
}

#[test]
fn ranks_learn_that_another_has_ended() {
    let found = run(3, |rank| (rank.rank() != 2).then(|| rank.all_gather(&[])));
    assert_eq!(
        found,
        [Some(Err(Error::Ended { rank: 2 })), Some(Err(Error::Ended { rank: 2 })), None]
    );
}
