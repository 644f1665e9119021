//! A sweep by several ranks: which runs each takes, and how the first gets what all have found.

use serde::{Deserialize, Serialize};

use super::rows::{Common, Sent};
use super::runs::Runs;
use super::solve::Found;
use crate::machine::deal;
use crate::machine::ranks::Ranks;
use crate::report::results::Folder;
use crate::terminal::exit::{Exit, Failure};

/// The runs that are this rank's, of all in an order in which those of one geometry follow each
/// other: these stay together, unless others would have none.
pub(super) fn own<'a>(ranks: &Ranks, runs: &Runs<'_>, order: &'a [usize]) -> &'a [usize] {
    let together = |a: &usize, b: &usize| runs.have_same_geometry(*a, *b);
    let lengths = || order.chunk_by(together).map(<[usize]>::len);
    let work: Vec<u64> = match lengths().count() < ranks.size() && !runs.follow_from_one() {
        true => vec![1; order.len()],
        false => lengths().map(|runs| runs as u64).collect(),
    };
    let mut dealt = deal::consecutive(&work, ranks.size()).into_iter();
    let items = dealt.nth(ranks.rank()).unwrap_or_default();
    let runs = |items: &[u64]| items.iter().sum::<u64>() as usize;
    let begin = runs(&work[..items.start]);
    &order[begin..begin + runs(&work[items])]
}

/// What a rank has found: one message to the first.
#[derive(Serialize, Deserialize)]
struct Message {
    rows: Vec<Sent>,
    common: Common,
    /// Files that it wrote.
    staged: Vec<String>,
}

/// Brings what all ranks have found to the first, and the names of their files to its folder.
/// Collective.
pub(super) fn collect(
    ranks: &Ranks,
    runs: &Runs<'_>,
    own: &[usize],
    mut found: Found,
    folder: &mut Folder,
) -> Result<Found, Failure> {
    if ranks.size() == 1 {
        return Ok(found);
    }
    let rows = own.iter().filter_map(|&run| Some(Sent::of(run, found.rows[run].as_ref()?)));
    let message = Message {
        rows: if ranks.is_first() { Vec::new() } else { rows.collect() },
        common: found.common.clone(),
        staged: folder.staged().to_vec(),
    };
    let unread = |error| Failure::new(Exit::Io, format!("a message of a rank: {error}"));
    let message = serde_json::to_vec(&message).map_err(unread);
    let all = ranks.gather(&ranks.agree(message)?)?;
    if !ranks.is_first() {
        return Ok(found);
    }
    for message in &all[1..] {
        let Message { rows, common, staged } = serde_json::from_slice(message).map_err(unread)?;
        if let (Some(names), Some(of_first), Some(row)) =
            (&common.conductors, &found.common.conductors, rows.first())
        {
            runs.check_conductors(row.run, names, of_first)?;
        }
        found.common.solved += common.solved;
        found.common.prepared += common.prepared;
        folder.add_staged(staged);
        for row in rows {
            let run = row.run;
            found.rows[run] = Some(row.into_row(runs.parameters(run)));
        }
    }
    Ok(found)
}
