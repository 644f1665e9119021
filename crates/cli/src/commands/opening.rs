//! The output folder of a command that solves, and the checkpoint in it.

use std::path::Path;

use super::arguments::Resuming;
use crate::case::Case;
use crate::machine::ranks::Ranks;
use crate::report::results::{Checkpoint, Folder, Inputs};
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// What to do if a rank does not see the output folder.
pub(super) const NOT_SHARED: &str = "choose a folder with --output that all hosts share";

/// A command that is about to write to a folder.
pub(super) struct Opening<'a> {
    /// Its name, and the options that its results follow from.
    pub(super) command: &'static str,
    pub(super) options: &'static str,
    pub(super) case: &'a Case,
    /// The output folder, and the files that will be written to it.
    pub(super) path: &'a Path,
    pub(super) files: &'a [String],
    pub(super) overwrite: bool,
    /// What to do if a rank does not see the folder; `None` if the first alone writes files.
    pub(super) not_shared: Option<&'static str>,
    /// Whether every rank has a checkpoint, or the first alone.
    pub(super) all_checkpoint: bool,
}

impl Opening<'_> {
    /// Opens the output folder, and the checkpoint in it if the run is `resuming` or may be
    /// resumed. Collective.
    ///
    /// # Errors
    /// `Exit::Io` if the folder cannot be written to or has other files, `Exit::BadInput` if the
    /// checkpoint belongs to another run.
    pub(super) fn open(
        &self,
        ranks: &Ranks,
        resuming: Option<Resuming>,
        output: &Output,
    ) -> Result<(Option<Folder>, Option<Checkpoint>), Failure> {
        let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
        let (path, overwrite) = (self.path, self.overwrite);
        let folder = match self.not_shared {
            Some(help) => Some(Folder::open_among(ranks, path, &files, overwrite, help)?),
            None => ranks.on_first(|| Folder::open(path, &files, overwrite))?,
        };
        let checkpoint = match resuming {
            Some(resuming) => self.checkpoint(ranks, folder.as_ref(), resuming, output)?,
            None => None,
        };
        Ok((folder, checkpoint))
    }

    /// The checkpoint: of several ranks the first, which has the folder, adds what all find
    /// together, and each what it finds alone if it is to. Collective.
    fn checkpoint(
        &self,
        ranks: &Ranks,
        folder: Option<&Folder>,
        resuming: Resuming,
        output: &Output,
    ) -> Result<Option<Checkpoint>, Failure> {
        let inputs = ranks.agree(self.inputs())?;
        let (resume, pause) = (resuming.resume, resuming.pause());
        let open = |folder: &Folder| folder.checkpoint(inputs.clone(), resume, pause, output);
        let first = ranks.agree(folder.map(open).transpose())?.flatten();
        // Checkpoints of other ranks exist or are removed by now.
        ranks.agree(match first {
            None if self.all_checkpoint => {
                Checkpoint::join(self.path, inputs, pause, output).map(Some)
            }
            first => Ok(first),
        })
    }

    /// What the results follow from.
    fn inputs(&self) -> Result<Inputs, Failure> {
        let version = concat!("farad ", env!("CARGO_PKG_VERSION"));
        let command = format!("farad {} {}", self.command, self.options);
        let mut inputs = vec![(version.to_owned(), 0), (command.trim_end().to_owned(), 0)];
        inputs.extend(self.case.inputs()?);
        Ok(Inputs(inputs))
    }
}
