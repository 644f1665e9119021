//! What ranks must be of one mind about before they go on.

use comm::Communicator;

use crate::Error;

/// A rank's own result, unless others have an error. Collective.
pub(super) fn agreed<T>(group: &dyn Communicator, own: Result<T, Error>) -> Result<T, Error> {
    let message = own.as_ref().map(|_| ()).map_err(ToString::to_string);
    let agreed = comm::agree(group, message);
    let own = own?;
    agreed?;
    Ok(own)
}

/// Makes sure that ranks were given the same. Collective.
pub(super) fn same(group: &dyn Communicator, what: &'static str, own: &str) -> Result<(), Error> {
    let all = group.all_gather(own.as_bytes())?;
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => {
            let text = |rank: usize| String::from_utf8_lossy(&all[rank]).into_owned();
            let [first, other] = [text(0), text(rank)];
            Err(Error::RanksDiffer { what, rank, first, other })
        }
    }
}
