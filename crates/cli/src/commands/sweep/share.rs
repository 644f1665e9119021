//! A sweep by several ranks: which runs each takes, and how the first gets what all have found.

use serde::{Deserialize, Serialize};

use super::kept;
use super::rows::{Common, Found, Sent};
use super::runs::Runs;
use crate::machine::deal;
use crate::machine::ranks::Ranks;
use crate::report::results::{Checkpoint, Folder};
use crate::report::units::counted;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// What an earlier sweep has kept, which the first has, and which runs of these that are in `order`
/// are left. Collective.
pub(super) fn begin(
    ranks: &Ranks,
    runs: &Runs<'_>,
    order: Vec<usize>,
    checkpoint: Option<&Checkpoint>,
    folder: &mut Folder,
    output: &Output,
) -> Result<(Found, Vec<usize>), Failure> {
    let checkpoint = checkpoint.filter(|_| ranks.is_first());
    let kept = checkpoint.map(|checkpoint| kept::take(checkpoint, runs, folder)).transpose();
    let found = ranks.agree(kept)?.unwrap_or_else(|| Found::none(runs.len()));
    let own: Vec<u8> = found.rows.iter().map(|row| u8::from(row.is_some())).collect();
    let is_found = ranks.gather(&own)?.swap_remove(0);
    let left: Vec<usize> = order.into_iter().filter(|&run| is_found[run] == 0).collect();
    if left.len() < runs.len() {
        let (count, of) = (runs.len() - left.len(), counted(runs.len(), "run"));
        output.note(&format!("{count} of {of} were found before"));
    }
    Ok((found, left))
}

/// The runs that are this rank's, of those in an order in which those of one geometry follow each
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
        found.common.add(common);
        folder.add_staged(staged);
        for row in rows {
            let run = row.run;
            found.rows[run] = Some(row.into_row(runs.parameters(run)));
        }
    }
    Ok(found)
}
