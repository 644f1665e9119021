//! Intermediate results of a run, in its output folder until its results are there: `--resume`
//! continues from them.
//!
//! A checkpoint is a hidden folder of files that are written whole or not at all: a manifest of the
//! run's inputs, finished parts, and charges of solves that are under way. Each file begins with
//! the format's version and the number of the inputs and ends with a checksum; a damaged one is
//! ignored. The commit of results removes the folder.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bem::CheckpointStore;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::case::number;
use crate::files;
use crate::temporaries::{self, Temporary};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// The folder in the output folder.
pub(super) const CHECKPOINT: &str = ".farad-checkpoint";

/// First bytes of every file, with the version of the format.
const MAGIC: &[u8; 20] = b"farad-checkpoint/03\n";

/// Manifest: hashes of the run's inputs.
const INPUTS: &str = "inputs";

/// Minimum pause between writes, as a multiple of the last write's duration.
const PAUSE_PER_WRITE: u32 = 100;

/// Everything that a run's results follow from: its name, and a hash of its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs(pub Vec<(String, u64)>);

impl Inputs {
    fn number(&self) -> u64 {
        number(&self.0)
    }

    /// The names of inputs that differ.
    fn differences(&self, others: &Self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (these, those) in [(self, others), (others, self)] {
            for (name, _) in these.0.iter().filter(|input| !those.0.contains(input)) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }
}

/// The checkpoint of a run, with the parts that an earlier run has left.
#[derive(Debug)]
pub struct Checkpoint {
    folder: PathBuf,
    inputs: Inputs,
    output: Output,
    /// Minimum time between two writes.
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Files of an earlier run that nobody has requested yet.
    earlier: HashSet<String>,
    /// The part of the run that charges belong to.
    part: usize,
    /// Contents that are not written yet, by the names of files.
    waiting: HashMap<String, Vec<u8>>,
    /// Files of charges that are written.
    charges: HashSet<String>,
    /// Whether charges are written as they come.
    is_writing: bool,
    /// Time of the last write, and its duration.
    written: Instant,
    took: Duration,
    /// Whether the folder exists.
    is_there: bool,
    /// Whether a write has failed: nothing more is written.
    is_broken: bool,
}

impl Checkpoint {
    /// The checkpoint in the locked output folder `real`. With `resume` it has the parts that an
    /// earlier run of the same inputs has left, otherwise none.
    pub fn open(
        real: &Path,
        inputs: Inputs,
        resume: bool,
        pause: Duration,
        output: &Output,
    ) -> Result<Self, Failure> {
        let folder = real.join(CHECKPOINT);
        let mut earlier = HashSet::new();
        let is_there = fs::symlink_metadata(&folder).is_ok();
        match (resume, is_there) {
            (false, true) => {
                temporaries::remove(&folder);
                output.note(
                    "the checkpoint of an earlier run in the output folder is removed; --resume would have continued from it",
                );
            }
            (true, false) => {
                output.note("there is no checkpoint: the run starts from the beginning")
            }
            (true, true) => match names(&folder, &inputs)? {
                Some(names) => earlier = names,
                None => {
                    temporaries::remove(&folder);
                    output.note(&format!(
                        "the checkpoint in {} is damaged or of another version: the run starts from the beginning",
                        folder.display()
                    ));
                }
            },
            (false, false) => {}
        }
        Ok(Self::new(folder, inputs, earlier, pause, output))
    }

    /// The checkpoint in the output folder `path`, which another rank has locked and opened for the
    /// same inputs.
    pub fn join(
        path: &Path,
        inputs: Inputs,
        pause: Duration,
        output: &Output,
    ) -> Result<Self, Failure> {
        let folder = path.join(CHECKPOINT);
        let earlier = if folder.is_dir() { names(&folder, &inputs)? } else { None };
        Ok(Self::new(folder, inputs, earlier.unwrap_or_default(), pause, output))
    }

    fn new(
        folder: PathBuf,
        inputs: Inputs,
        earlier: HashSet<String>,
        pause: Duration,
        output: &Output,
    ) -> Self {
        let charges = earlier.iter().filter(|name| part_of(name).is_some()).cloned().collect();
        let state = Mutex::new(State {
            is_there: !earlier.is_empty(),
            charges,
            earlier,
            part: 0,
            waiting: HashMap::new(),
            is_writing: false,
            written: Instant::now(),
            took: Duration::ZERO,
            is_broken: false,
        });
        Self { folder, inputs, output: *output, pause, state }
    }

    /// A finished part that an earlier run has left; it is returned once.
    pub fn take<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let is_there = self.state().earlier.remove(name);
        is_there.then(|| self.read(name))?
    }

    /// The names of all finished parts that an earlier run has left and nobody has taken yet,
    /// sorted.
    pub fn parts(&self) -> Vec<String> {
        let state = self.state();
        let is_part = |name: &&String| *name != INPUTS && part_of(name).is_none();
        let mut parts: Vec<String> = state.earlier.iter().filter(is_part).cloned().collect();
        parts.sort();
        parts
    }

    /// Adds a finished part.
    pub fn put(&self, name: &str, part: &impl Serialize) {
        let Ok(content) = postcard::to_extend(part, Vec::new()) else { return };
        let mut state = self.state();
        state.waiting.insert(name.to_owned(), content);
        if self.is_time(&state) {
            self.flush(&mut state);
        }
    }

    /// Adds a file that is in its final state, and returns its checksum.
    pub(crate) fn put_file(&self, name: &str, at: &Path) -> Option<u64> {
        let mut sum = None;
        self.attempt(&mut self.state(), || {
            sum = Some(checksum(name, &fs::read(at)?));
            let place = self.folder.join(file(name));
            temporaries::remove(&place);
            fs::hard_link(at, &place).or_else(|_| fs::copy(at, &place).map(|_| ()))
        });
        sum
    }

    /// Puts the file of this checksum at the path `to`, where none is; returns whether it could.
    pub(crate) fn take_file(&self, name: &str, sum: u64, to: &Path) -> bool {
        let from = self.folder.join(file(name));
        let is_whole = fs::read(&from).is_ok_and(|bytes| checksum(name, &bytes) == sum);
        is_whole && fs::hard_link(&from, to).or_else(|_| fs::copy(&from, to).map(|_| ())).is_ok()
    }

    /// From now on charges belong to this part of the run; those of parts that are `done` are
    /// removed.
    pub fn begin(&self, part: usize, done: impl Fn(usize) -> bool) {
        let mut state = self.state();
        state.part = part;
        let is_old = |name: &String| part_of(name).is_some_and(&done);
        state.waiting.retain(|name, _| !is_old(name));
        let (old, charges) = std::mem::take(&mut state.charges).into_iter().partition(&is_old);
        state.charges = charges;
        let old: HashSet<String> = old;
        if !old.is_empty() {
            // The parts that they led to are written before they are removed.
            self.flush(&mut state);
            if !state.is_broken {
                old.iter().for_each(|name| temporaries::remove(&self.folder.join(name)));
            }
        }
    }

    /// Writes everything that is not written yet.
    pub fn write_all(&self) {
        self.flush(&mut self.state());
    }

    /// Removes what was written, if a run with the same inputs would fail again.
    pub fn discard_after(&self, failure: &Failure) {
        if failure.exit == Exit::BadInput {
            let mut state = self.state();
            temporaries::remove(&self.folder);
            state.is_there = false;
        }
    }

    /// [`Self::advise`] if there is a checkpoint.
    pub(crate) fn advised(checkpoint: Option<&Self>, failure: Failure) -> Failure {
        match checkpoint {
            Some(checkpoint) => checkpoint.advise(failure),
            None => failure,
        }
    }

    /// Adds to the message of a run that was interrupted, or could not write, how to continue, if
    /// the checkpoint exists.
    pub fn advise(&self, failure: Failure) -> Failure {
        let before = match failure.exit {
            Exit::Interrupted => "",
            Exit::Io => "make room, or fix the cause; ",
            _ => return failure,
        };
        if failure.report.is_none() || !self.folder.is_dir() {
            return failure;
        }
        let help = format!(
            "{before}the same command with --resume continues from the checkpoint in {}",
            self.folder.display()
        );
        Failure::with_help(failure.exit, failure, help)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something may be written again.
    fn is_time(&self, state: &State) -> bool {
        state.written.elapsed() >= self.pause.max(PAUSE_PER_WRITE * state.took)
    }

    fn flush(&self, state: &mut State) {
        if !state.is_writing {
            state.took = Duration::ZERO;
        }
        for (name, content) in std::mem::take(&mut state.waiting) {
            self.attempt(state, || self.write(&name, &content));
            if part_of(&name).is_some() {
                state.charges.insert(name);
            }
        }
        state.written = Instant::now();
    }

    /// Tries to write something; if that fails, the run continues without a checkpoint.
    fn attempt(&self, state: &mut State, write: impl FnOnce() -> io::Result<()>) {
        if state.is_broken {
            return;
        }
        let begun = Instant::now();
        let result = self.make(state).and_then(|()| write());
        state.took += begun.elapsed();
        if let Err(error) = result {
            state.is_broken = true;
            self.output.note(&format!(
                "the checkpoint in {} cannot be written any more ({error}): if this run is cut short, --resume continues from what is there",
                self.folder.display()
            ));
        }
    }

    /// Makes the folder, unless it exists.
    fn make(&self, state: &mut State) -> io::Result<()> {
        if !state.is_there {
            match fs::create_dir(&self.folder) {
                // Made by another rank.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            let content =
                postcard::to_extend(&self.inputs.0, Vec::new()).map_err(io::Error::other)?;
            self.write(INPUTS, &content)?;
            files::sync_folder(self.folder.parent().unwrap_or(&self.folder))?;
            state.is_there = true;
        }
        Ok(())
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let bytes = framed(name, self.inputs.number(), content);
        let place = self.folder.join(name);
        let temporary = Temporary::new(self.folder.join(temporaries::temporary_name(None)));
        files::write_whole(temporary.path(), |file| file.write_all(&bytes))?;
        fs::rename(temporary.path(), &place)?;
        temporary.keep();
        files::sync_folder(&self.folder)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let path = self.folder.join(name);
        let bytes = fs::read(&path).ok()?;
        let content = match parsed(name, &bytes) {
            Some((inputs, content)) if inputs == self.inputs.number() => Some(content),
            _ => None,
        };
        let part = content.and_then(|content| postcard::from_bytes(content).ok());
        if part.is_none() {
            let path = path.display();
            self.output.note(&format!("{path} is damaged: what it had is computed again"));
        }
        part
    }
}

impl CheckpointStore for Checkpoint {
    fn load(&self, equations: u64) -> Option<Vec<f64>> {
        let name = charges_of(self.state().part, equations);
        self.take(&name)
    }

    fn is_due(&self) -> bool {
        let mut state = self.state();
        if state.is_writing {
            state.is_writing = false;
        } else if self.is_time(&state) {
            self.flush(&mut state);
            state.is_writing = true;
        }
        state.is_writing
    }

    fn store(&self, equations: u64, answer: Vec<f64>) {
        let Ok(content) = postcard::to_extend(&answer, Vec::new()) else { return };
        let mut state = self.state();
        let name = charges_of(state.part, equations);
        state.waiting.insert(name, content);
        if state.is_writing {
            self.flush(&mut state);
        }
    }
}

/// The part that charges in a file of this name belong to.
fn part_of(name: &str) -> Option<usize> {
    name.strip_prefix("charges-")?.split('-').next()?.parse().ok()
}

/// The name of a file of charges.
fn charges_of(part: usize, equations: u64) -> String {
    format!("charges-{part}-{equations:016x}")
}

/// The name of a result's file in the checkpoint.
fn file(name: &str) -> String {
    format!("file-{name}")
}

/// The names of files that an earlier run of the same inputs has left; `None` if the manifest is
/// damaged or of another version of the format.
fn names(folder: &Path, inputs: &Inputs) -> Result<Option<HashSet<String>>, Failure> {
    let bytes = fs::read(folder.join(INPUTS)).ok();
    let content = bytes.as_ref().and_then(|bytes| parsed(INPUTS, bytes));
    let earlier = content.and_then(|(_, content)| postcard::from_bytes(content).ok().map(Inputs));
    let Some(earlier) = earlier else { return Ok(None) };
    if earlier != *inputs {
        return Err(Failure::with_help(
            Exit::BadInput,
            format!(
                "the checkpoint in {} belongs to a different run ({})",
                folder.display(),
                match &earlier.differences(inputs)[..] {
                    [] => "the order of its files differs".to_owned(),
                    [one] => format!("{one} differs"),
                    several => format!("{} differ", several.join(", ")),
                }
            ),
            "run without --resume to start from the beginning, or restore its inputs",
        ));
    }
    let entries = fs::read_dir(folder).map_err(|error| Failure::io("read", folder, &error))?;
    let mut names = HashSet::new();
    for entry in entries.filter_map(Result::ok) {
        if temporaries::is_temporary(&entry.file_name()) {
            temporaries::remove(&entry.path());
        } else {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(Some(names))
}

fn checksum(name: &str, bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.write(bytes);
    hasher.finish()
}

/// A file's bytes: `MAGIC`, the number of the inputs, the content, a checksum of the file's name
/// and all of these; numbers with the lowest byte first.
pub fn framed(name: &str, inputs: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = [&MAGIC[..], &inputs.to_le_bytes(), content].concat();
    let sum = checksum(name, &bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// The number of the inputs and the content of a file; `None` if it is damaged.
pub fn parsed<'a>(name: &str, bytes: &'a [u8]) -> Option<(u64, &'a [u8])> {
    let (whole, sum) = bytes.split_last_chunk::<8>()?;
    if checksum(name, whole) != u64::from_le_bytes(*sum) {
        return None;
    }
    let (inputs, content) = whole.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*inputs), content))
}
