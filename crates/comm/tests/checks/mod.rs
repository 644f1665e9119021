//! Tests for every [`Communicator`].

use comm::{Communicator, Error, Operation, agree, all_gather, exchange, once};

/// A check, called by all ranks with the bytes of the longest messages, which are at least 8.
pub type Check = fn(&dyn Communicator, usize);

/// All checks, by name.
pub const ALL: [(&str, Check); 13] = [
    ("exchange", messages_arrive_where_they_are_sent),
    ("arrays", arrays_are_exchanged),
    ("all_gather", all_get_all),
    ("all_reduce", numbers_are_brought_together),
    ("all_reduce: bits", all_have_the_same_bits),
    ("start: order", started_messages_keep_their_order),
    ("start: some", ranks_that_expect_nothing_need_not_call),
    ("start: collective", started_messages_wait_for_collective_calls),
    ("start: any order", ranks_wait_in_any_order),
    ("start: dropped", dropped_messages_reach_the_others),
    ("start: length", a_wrong_length_is_an_error),
    ("agree", an_error_reaches_all),
    ("once", all_have_a_value_of_one),
];

/// A pseudo-random number for these words, the same on all ranks.
fn draw(words: &[usize]) -> usize {
    let mix = |state: u64, &word: &usize| {
        let state = (state ^ word as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    };
    words.iter().fold(0, mix) as usize >> 1
}

/// A message unique to this round, sender and receiver; every fourth is empty.
fn message(longest: usize, round: usize, from: usize, to: usize) -> Vec<u8> {
    let seed = draw(&[round, from, to]);
    let length = if seed.is_multiple_of(4) { 0 } else { draw(&[seed]) % (longest + 1) };
    (0..length).map(|place| draw(&[seed, place]) as u8).collect()
}

/// All ranks share one value, whichever makes it, also where the next value is another.
fn all_have_a_value_of_one(group: &dyn Communicator, longest: usize) {
    for round in 0..5 {
        let value = once(group, || vec![round; longest]).unwrap();
        assert_eq!(*value, vec![round; longest]);
        let value = once(group, || format!("round {round}")).unwrap();
        assert_eq!(*value, format!("round {round}"));
    }
}

fn messages_arrive_where_they_are_sent(group: &dyn Communicator, longest: usize) {
    let (own, size) = (group.rank(), group.size());
    assert!(own < size);
    for round in 0..5 {
        let sent = (0..size).map(|to| message(longest, round, own, to)).collect();
        let expected: Vec<_> = (0..size).map(|from| message(longest, round, from, own)).collect();
        assert_eq!(group.exchange(sent).unwrap(), expected, "round {round}");
    }
    assert_eq!(group.exchange(vec![vec![]; size]).unwrap(), vec![vec![]; size]);
}

fn arrays_are_exchanged(group: &dyn Communicator, _: usize) {
    let (own, size) = (group.rank(), group.size());
    let messages: Vec<Vec<u64>> =
        (0..size).map(|to| vec![(10 * own + to) as u64; own + to]).collect();
    for (from, message) in exchange(group, &messages).unwrap().iter().enumerate() {
        assert_eq!(*message, vec![(10 * from + own) as u64; from + own]);
    }
    let all = all_gather(group, &vec![own as f64; own]).unwrap();
    assert!(all.iter().enumerate().all(|(from, all)| *all == vec![from as f64; from]));
}

fn all_get_all(group: &dyn Communicator, longest: usize) {
    let (own, size) = (group.rank(), group.size());
    for round in 0..5 {
        let expected: Vec<_> = (0..size).map(|from| message(longest, round, from, size)).collect();
        let all = group.all_gather(&message(longest, round, own, size)).unwrap();
        assert_eq!(all, expected, "round {round}");
    }
    assert_eq!(group.all_gather(&[]).unwrap(), vec![vec![]; size]);
}

fn numbers_are_brought_together(group: &dyn Communicator, _: usize) {
    let (own, size) = (group.rank(), group.size());
    let last = (size - 1) as f64;
    let reduce = |operation| {
        let mut values = [own as f64, -(own as f64), 2.0];
        group.all_reduce(&mut values, operation).unwrap();
        values
    };
    let sum = last * size as f64 / 2.0;
    assert_eq!(reduce(Operation::Sum), [sum, -sum, 2.0 * size as f64]);
    assert_eq!(reduce(Operation::Min), [0.0, -last, 2.0]);
    assert_eq!(reduce(Operation::Max), [last, 0.0, 2.0]);
    group.all_reduce(&mut [], Operation::Sum).unwrap();

    // NaN is neither less nor more than a number.
    let mut values = [if own == 0 { f64::NAN } else { own as f64 }; 1];
    group.all_reduce(&mut values, Operation::Min).unwrap();
    assert_eq!(values[0].is_nan(), size == 1);
    assert!(size == 1 || values == [1.0]);
}

fn all_have_the_same_bits(group: &dyn Communicator, longest: usize) {
    let own = group.rank();
    for operation in [Operation::Sum, Operation::Min, Operation::Max] {
        for length in [1, 2, 7, longest / 8] {
            // Numbers of any size and sign, so that their sum depends on its order. Some are NaN,
            // or zeros.
            let number = |place: usize| match draw(&[1, own, place]) {
                seed if place.is_multiple_of(5) => [0.0, -0.0, f64::NAN, -f64::NAN][seed % 4],
                seed => (seed as f64 / 1e18 - 4.6) * 10.0_f64.powi(draw(&[seed]) as i32 % 20),
            };
            let before: Vec<f64> = (0..length).map(number).collect();
            let mut after = before.clone();
            group.all_reduce(&mut after, operation).unwrap();

            let bits: Vec<u64> = after.iter().map(|value| value.to_bits()).collect();
            let others = all_gather(group, &bits).unwrap();
            assert!(others.iter().all(|other| *other == bits), "{operation:?} of {length}");

            let all = all_gather(group, &before).unwrap();
            for (place, &found) in after.iter().enumerate() {
                let of_ranks = || all.iter().map(|of_rank| of_rank[place]);
                let expected = of_ranks().reduce(|a, b| operation.of(a, b)).unwrap();
                // Rounding of a sum; smallest and largest are exact.
                let bound = match operation {
                    Operation::Sum => {
                        of_ranks().map(f64::abs).sum::<f64>() * f64::EPSILON * all.len() as f64
                    }
                    _ => 0.0,
                };
                let same = found.is_nan() && expected.is_nan();
                assert!(
                    same || (found - expected).abs() <= bound,
                    "{operation:?} of {length}: {found}, not {expected}"
                );
            }
        }
    }
}

fn started_messages_keep_their_order(group: &dyn Communicator, longest: usize) {
    let (own, size) = (group.rank(), group.size());
    // Each call sends some messages to some ranks, this one included, and the receivers know it.
    let count = |call, from, to| draw(&[call, from, to, 5]) % 3;
    let between = |call: usize, from: usize, to: usize| {
        (0..count(call, from, to)).map(move |place| message(longest, 10 * call + place, from, to))
    };
    let mut pending = Vec::new();
    for call in 0..8 {
        let sends = (0..size).flat_map(|to| between(call, own, to).map(move |sent| (to, sent)));
        let expected: Vec<(usize, Vec<u8>)> = (0..size)
            .rev()
            .flat_map(|from| between(call, from, own).map(move |sent| (from, sent)))
            .collect();
        let receives: Vec<_> = expected.iter().map(|(from, sent)| (*from, sent.len())).collect();
        pending.push((expected, group.start(sends.collect(), &receives).unwrap()));
    }
    for (call, (expected, pending)) in pending.into_iter().enumerate() {
        let expected: Vec<_> = expected.into_iter().map(|(_, message)| message).collect();
        assert_eq!(pending.wait().unwrap(), expected, "call {call}");
    }
}

fn ranks_that_expect_nothing_need_not_call(group: &dyn Communicator, longest: usize) {
    let (own, last) = (group.rank(), group.size() - 1);
    assert!(group.start(vec![], &[]).unwrap().wait().unwrap().is_empty());
    let sent = message(longest, 2, 0, last);
    // One call sends and another receives.
    let sends = (own == 0).then(|| group.start(vec![(last, sent.clone())], &[]).unwrap());
    if own == last {
        let received = group.start(vec![], &[(0, sent.len())]).unwrap().wait();
        assert_eq!(received.unwrap()[0], sent);
    }
    if let Some(sends) = sends {
        assert!(sends.wait().unwrap().is_empty());
    }
}

fn started_messages_wait_for_collective_calls(group: &dyn Communicator, longest: usize) {
    let (own, size) = (group.rank(), group.size());
    let (next, last) = ((own + 1) % size, (own + size - 1) % size);
    let first = group.start(vec![(next, vec![1; longest])], &[(last, longest)]).unwrap();
    let second = group.start(vec![(next, vec![2; 4])], &[(last, 4)]).unwrap();
    assert_eq!(group.all_gather(&[7]).unwrap(), vec![vec![7]; size]);
    assert_eq!(group.exchange(vec![vec![8; longest]; size]).unwrap(), vec![vec![8; longest]; size]);
    let mut values = [1.0];
    group.all_reduce(&mut values, Operation::Sum).unwrap();
    assert_eq!(values, [size as f64]);
    assert_eq!(first.wait().unwrap(), [vec![1; longest]]);
    assert_eq!(second.wait().unwrap(), [vec![2; 4]]);
}

fn ranks_wait_in_any_order(group: &dyn Communicator, longest: usize) {
    let (own, size) = (group.rank(), group.size());
    let (next, last) = ((own + 1) % size, (own + size - 1) % size);
    let start = |byte| group.start(vec![(next, vec![byte; longest])], &[(last, longest)]).unwrap();
    for even in [true, false] {
        let (first, second) = (start(1), start(2));
        let wait = |byte, pending: Box<dyn comm::Pending + '_>| {
            assert_eq!(pending.wait().unwrap(), [vec![byte; longest]]);
        };
        if own.is_multiple_of(2) == even {
            wait(1, first);
            assert_eq!(group.all_gather(&[7]).unwrap(), vec![vec![7]; size]);
            wait(2, second);
        } else {
            wait(2, second);
            wait(1, first);
            assert_eq!(group.all_gather(&[7]).unwrap(), vec![vec![7]; size]);
        }
    }
}

fn dropped_messages_reach_the_others(group: &dyn Communicator, longest: usize) {
    let (own, size) = (group.rank(), group.size());
    let (next, last) = ((own + 1) % size, (own + size - 1) % size);
    let start = |byte| group.start(vec![(next, vec![byte; longest])], &[(last, longest)]).unwrap();
    let (first, second) = (start(1), start(2));
    // Some wait, and some do not.
    if own % 2 == 0 {
        drop(first);
    } else {
        assert_eq!(first.wait().unwrap(), [vec![1; longest]]);
    }
    assert_eq!(second.wait().unwrap(), [vec![2; longest]]);
}

fn a_wrong_length_is_an_error(group: &dyn Communicator, longest: usize) {
    let (own, size) = (group.rank(), group.size());
    let (next, last) = ((own + 1) % size, (own + size - 1) % size);
    let lengths = [0, 1, longest / 2 - 1, longest - 1, longest];
    for found in lengths {
        for expected in lengths {
            let start = |length, expected| {
                group.start(vec![(next, vec![3; length])], &[(last, expected)]).unwrap()
            };
            let one = start(found, expected);
            // Messages before and after it are as they should be.
            let other = start(longest, longest);
            let one = one.wait();
            if found == expected {
                assert_eq!(one.unwrap(), [vec![3; found]]);
            } else {
                assert_eq!(one, Err(Error::Length { rank: last, expected, found }));
            }
            assert_eq!(other.wait().unwrap(), [vec![3; longest]], "{found} for {expected}");
        }
    }
}

fn an_error_reaches_all(group: &dyn Communicator, _: usize) {
    let (own, size) = (group.rank(), group.size());
    assert_eq!(agree(group, Ok(())), Ok(()));
    for failing in 0..size {
        // All ranks from this one on fail; the first error is reported.
        let result = if own >= failing { Err(format!("no memory on {own}")) } else { Ok(()) };
        let cause = format!("no memory on {failing}");
        assert_eq!(agree(group, result), Err(Error::Elsewhere { rank: failing, cause }));
    }
}
