//! What a run has found so far, kept in its output folder until its results are there: `--resume`
//! goes on from it.
//!
//! It is a hidden folder of files that are written whole or not at all: `inputs` says what the run
//! is of, and each other file is a part that is finished, or charges that iterations have come to.
//! Each begins with the format's version and the number of the inputs and ends with a checksum; one
//! that is damaged counts as not there. The commit of results takes the folder away.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bem::Keeper;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;
use crate::temporaries::{self, Temporary};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// The folder in the output folder.
pub(super) const CHECKPOINT: &str = ".farad-checkpoint";

/// What every file begins with: the version of the format is its last byte but one.
const MAGIC: &[u8; 20] = b"farad-checkpoint/02\n";

/// The file that says what the run is of.
const INPUTS: &str = "inputs";

/// The share of the time that writing may take: pauses are so many times as long as it took.
const SPARING: u32 = 100;

/// What a run is of: the names of things that its results follow from, with a number for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs(pub Vec<(String, u64)>);

impl Inputs {
    fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    /// The names of what is not the same in others.
    fn that_differ(&self, others: &Self) -> Vec<String> {
        let both = [(self, others), (others, self)];
        let mut names: Vec<String> = Vec::new();
        for (these, those) in both {
            let differ = these.0.iter().filter(|this| !those.0.contains(this));
            for (name, _) in differ {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }
}

/// What a run keeps, and what an earlier one has left.
#[derive(Debug)]
pub struct Checkpoint {
    folder: PathBuf,
    inputs: Inputs,
    output: Output,
    /// Between two times that charges are written, at least.
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Files that an earlier run has left, and that nobody has asked for.
    earlier: HashSet<String>,
    /// The part of the run that charges are kept for.
    part: usize,
    /// What is not written: texts and numbers, by the names of files.
    waiting: HashMap<String, (Vec<u8>, Vec<f64>)>,
    /// Charges that are written.
    charges: HashSet<String>,
    /// Whether charges are written as they come.
    is_writing: bool,
    /// When something was written last, and how long that took.
    written: Instant,
    took: Duration,
    /// Whether there is anything in the folder.
    is_there: bool,
    /// Whether it cannot be written to.
    is_broken: bool,
}

impl Checkpoint {
    /// Of the output folder that is locked. With `resume` it begins with what an earlier run of the
    /// same inputs has left, otherwise with nothing.
    ///
    /// # Errors
    /// What was left is of other inputs.
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
                    "what an earlier run had kept in the output folder is removed; --resume would have gone on from it",
                );
            }
            (true, false) => output.note("there is nothing to go on from: the run begins anew"),
            (true, true) => match names(&folder, &inputs)? {
                Some(names) => earlier = names,
                None => {
                    temporaries::remove(&folder);
                    output.note(&format!(
                        "what an earlier run has kept in {} is damaged or of another version: the run begins anew",
                        folder.display()
                    ));
                }
            },
            (false, false) => {}
        }
        Ok(Self::begun(folder, inputs, earlier, pause, output))
    }

    /// Of the output folder that another rank has locked and opened for the same inputs.
    ///
    /// # Errors
    /// What is kept there cannot be read.
    pub fn beside(
        path: &Path,
        inputs: Inputs,
        pause: Duration,
        output: &Output,
    ) -> Result<Self, Failure> {
        let folder = path.join(CHECKPOINT);
        let earlier = if folder.is_dir() { names(&folder, &inputs)? } else { None };
        Ok(Self::begun(folder, inputs, earlier.unwrap_or_default(), pause, output))
    }

    fn begun(
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

    /// A finished part that an earlier run has left: its description and numbers. It is given once.
    pub fn take<T: DeserializeOwned>(&self, name: &str) -> Option<(T, Vec<f64>)> {
        let is_there = self.state().earlier.remove(name);
        let (text, numbers) = is_there.then(|| self.read(name))??;
        Some((serde_json::from_slice(&text).ok()?, numbers))
    }

    /// Keeps a finished part.
    pub fn put(&self, name: &str, description: &impl Serialize, numbers: &[f64]) {
        let Ok(text) = serde_json::to_vec(description) else { return };
        let mut state = self.state();
        state.waiting.insert(name.to_owned(), (text, numbers.to_vec()));
        if self.is_time(&state) {
            self.flush(&mut state);
        }
    }

    /// Keeps a file that is in its final state, and returns its checksum.
    pub(crate) fn put_file(&self, name: &str, at: &Path) -> Option<u64> {
        let mut sum = None;
        self.attempt(&mut self.state(), |_| {
            sum = Some(checksum(name, &fs::read(at)?));
            let place = self.folder.join(file(name));
            temporaries::remove(&place);
            fs::hard_link(at, &place).or_else(|_| fs::copy(at, &place).map(|_| ()))
        });
        sum
    }

    /// Brings a file of this checksum to a place where none is; whether it was there.
    pub(crate) fn take_file(&self, name: &str, sum: u64, to: &Path) -> bool {
        let from = self.folder.join(file(name));
        let is_whole = fs::read(&from).is_ok_and(|bytes| checksum(name, &bytes) == sum);
        is_whole && fs::hard_link(&from, to).or_else(|_| fs::copy(&from, to).map(|_| ())).is_ok()
    }

    /// From now on charges are those of another part of the run; those of parts that are `over` are
    /// of no use any more.
    pub fn begin(&self, part: usize, over: impl Fn(usize) -> bool) {
        let mut state = self.state();
        state.part = part;
        let is_old = |name: &String| part_of(name).is_some_and(&over);
        state.waiting.retain(|name, _| !is_old(name));
        let (old, charges) = std::mem::take(&mut state.charges).into_iter().partition(&is_old);
        state.charges = charges;
        let old: HashSet<String> = old;
        if !old.is_empty() {
            // What they led to is to be there before they go.
            self.flush(&mut state);
            if !state.is_broken {
                old.iter().for_each(|name| temporaries::remove(&self.folder.join(name)));
            }
        }
    }

    /// Writes what is not written.
    pub fn write_all(&self) {
        self.flush(&mut self.state());
    }

    /// [`Self::advise`] where something is kept.
    pub(crate) fn advised(kept: Option<&Self>, failure: Failure) -> Failure {
        match kept {
            Some(kept) => kept.advise(failure),
            None => failure,
        }
    }

    /// Adds to the message of a run that was interrupted, or could not write, how to go on, if
    /// there is anything.
    pub fn advise(&self, failure: Failure) -> Failure {
        let before = match failure.exit {
            Exit::Interrupted => "",
            Exit::Io => "make room, or mend what the message says; ",
            _ => return failure,
        };
        if failure.report.is_none() || !self.folder.is_dir() {
            return failure;
        }
        let help = format!(
            "{before}what was found is kept in {}: the same command with --resume goes on from it",
            self.folder.display()
        );
        Failure::with_help(failure.exit, failure, help)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something may be written again.
    fn is_time(&self, state: &State) -> bool {
        state.written.elapsed() >= self.pause.max(SPARING * state.took)
    }

    /// Writes what waits.
    fn flush(&self, state: &mut State) {
        if !state.is_writing {
            state.took = Duration::ZERO;
        }
        for (name, (text, numbers)) in std::mem::take(&mut state.waiting) {
            self.attempt(state, |_| self.write(&name, &text, &numbers));
            if part_of(&name).is_some() {
                state.charges.insert(name);
            }
        }
        state.written = Instant::now();
    }

    /// Tries to write something; where that fails, the run goes on without.
    fn attempt(&self, state: &mut State, write: impl FnOnce(&mut State) -> io::Result<()>) {
        if state.is_broken {
            return;
        }
        let begun = Instant::now();
        let result = self.make(state).and_then(|()| write(state));
        state.took += begun.elapsed();
        if let Err(error) = result {
            state.is_broken = true;
            self.output.note(&format!(
                "nothing more can be kept in {} ({error}): if this run is cut short, --resume goes on from what is there",
                self.folder.display()
            ));
        }
    }

    /// Makes the folder, unless it is there.
    fn make(&self, state: &mut State) -> io::Result<()> {
        if !state.is_there {
            match fs::create_dir(&self.folder) {
                // By another rank.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            let text = serde_json::to_vec(&self.inputs.0)?;
            self.write(INPUTS, &text, &[])?;
            files::sync_folder(self.folder.parent().unwrap_or(&self.folder))?;
            state.is_there = true;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &[u8], numbers: &[f64]) -> io::Result<()> {
        let bytes = framed(name, self.inputs.number(), text, numbers);
        let place = self.folder.join(name);
        let temporary = Temporary::new(self.folder.join(temporaries::temporary_name(None)));
        files::write_whole(temporary.path(), |file| file.write_all(&bytes))?;
        fs::rename(temporary.path(), &place)?;
        temporary.keep();
        files::sync_folder(&self.folder)
    }

    fn read(&self, name: &str) -> Option<(Vec<u8>, Vec<f64>)> {
        let bytes = fs::read(self.folder.join(name)).ok()?;
        let found = parsed(name, &bytes).filter(|found| found.0 == self.inputs.number());
        if found.is_none() {
            self.output.note(&format!(
                "{} is damaged: what it had is computed again",
                self.folder.join(name).display()
            ));
        }
        found.map(|(_, text, numbers)| (text, numbers))
    }
}

impl Keeper for Checkpoint {
    fn known(&self, equations: u64) -> Option<Vec<f64>> {
        let mut state = self.state();
        let name = charges_of(state.part, equations);
        let is_there = state.earlier.remove(&name);
        drop(state);
        is_there.then(|| self.read(&name))?.map(|(_, charges)| charges)
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

    fn keep(&self, equations: u64, answer: Vec<f64>) {
        let mut state = self.state();
        let name = charges_of(state.part, equations);
        state.waiting.insert(name, (b"null".to_vec(), answer));
        if state.is_writing {
            self.flush(&mut state);
        }
    }
}

/// The part that charges in a file of this name are of.
fn part_of(name: &str) -> Option<usize> {
    name.strip_prefix("charges-")?.split('-').next()?.parse().ok()
}

/// The name of the file of charges.
fn charges_of(part: usize, equations: u64) -> String {
    format!("charges-{part}-{equations:016x}")
}

/// The name of a file that is kept as it is.
fn file(name: &str) -> String {
    format!("file-{name}")
}

/// The names of what an earlier run of the same inputs has left; `None` if it is damaged or of
/// another version of the format.
fn names(folder: &Path, inputs: &Inputs) -> Result<Option<HashSet<String>>, Failure> {
    let left = fs::read(folder.join(INPUTS)).ok();
    let left = left.and_then(|bytes| parsed(INPUTS, &bytes));
    let left = left.and_then(|(_, text, _)| serde_json::from_slice(&text).ok().map(Inputs));
    let Some(left) = left else { return Ok(None) };
    if left != *inputs {
        return Err(Failure::with_help(
            Exit::BadInput,
            format!(
                "what an earlier run has kept in {} is of something else: {}",
                folder.display(),
                match &left.that_differ(inputs)[..] {
                    [] => "the order of its files differs".to_owned(),
                    [one] => format!("{one} differs"),
                    several => format!("{} differ", several.join(", ")),
                }
            ),
            "run without --resume to begin anew, or go back to what it was begun with",
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

/// A file's bytes: `MAGIC`, the number of the inputs, the lengths of text and numbers, both, a
/// checksum of the file's name and all that; numbers with the lowest byte first.
pub fn framed(name: &str, inputs: u64, text: &[u8], numbers: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + 32 + text.len() + 8 * numbers.len());
    bytes.extend_from_slice(MAGIC);
    for number in [inputs, text.len() as u64, numbers.len() as u64] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(text);
    numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    let sum = checksum(name, &bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// What such bytes hold: the number of the inputs, text, numbers; `None` if they are damaged.
pub fn parsed(name: &str, bytes: &[u8]) -> Option<(u64, Vec<u8>, Vec<f64>)> {
    let (whole, sum) = bytes.split_last_chunk::<8>()?;
    if checksum(name, whole) != u64::from_le_bytes(*sum) {
        return None;
    }
    let rest = whole.strip_prefix(MAGIC)?;
    let (header, rest) = rest.split_first_chunk::<24>()?;
    let number = |k: usize| Some(u64::from_le_bytes(header[8 * k..8 * k + 8].try_into().ok()?));
    let (text, numbers) = rest.split_at_checked(usize::try_from(number(1)?).ok()?)?;
    let (numbers, []) = numbers.as_chunks::<8>() else { return None };
    let is_whole = numbers.len() as u64 == number(2)?;
    let numbers = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    is_whole.then_some((number(0)?, text.to_vec(), numbers))
}
