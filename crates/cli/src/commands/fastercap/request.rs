//! The command lines of FasterCap and FastCap: requests, and options without a meaning here.
//!
//! FasterCap's is in the usage text of its 6.0.7, which later ones have kept, FastCap's in the
//! FastCap User's Guide (MIT 1992).

use std::path::PathBuf;

use farad::FINEST;

/// Whose command line and text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    FasterCap,
    FastCap,
}

/// The request of a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Usage,
    Version,
    Solve(Request),
}

/// A capacitance matrix to be found.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub input: PathBuf,
    /// How exact each entry has to be, relative to the diagonal.
    pub accuracy: f64,
    /// All permittivities are multiplied by this.
    pub permittivity: f64,
    /// Whether the matrix goes to a file, too.
    pub writes_matrix: bool,
    /// Whether times and memory are reported in detail.
    pub has_details: bool,
    /// Whether the input is all that is wanted.
    pub(super) only_reads: bool,
    /// Sentences about options of no use here.
    pub(super) remarks: Vec<String>,
}

/// Default accuracy.
pub const ACCURACY: f64 = 0.01;

/// The largest error that bars are made for.
pub const COARSEST: f64 = 0.1;

impl Request {
    fn new() -> Self {
        Self {
            input: PathBuf::new(),
            accuracy: ACCURACY,
            permittivity: 1.0,
            writes_matrix: false,
            has_details: false,
            only_reads: false,
            remarks: Vec::new(),
        }
    }

    fn remark(&mut self, option: &str, why: &str) {
        self.remarks.push(format!("{option} has no effect here: {why}"));
    }

    fn ask(&mut self, option: &str, error: f64) -> Result<(), String> {
        if error.is_nan() || error <= 0.0 {
            return Err(format!("{option}: the relative error has to be greater than 0"));
        }
        self.accuracy = error.clamp(FINEST, COARSEST);
        if self.accuracy != error {
            self.remarks.push(format!(
                "{option}: an error of {error} is not supported by error bars; {}is used instead",
                self.accuracy
            ));
        }
        Ok(())
    }

    fn finish(self) -> Result<Asked, String> {
        if self.input.as_os_str().is_empty() {
            return Err("the name of the input file is missing".into());
        }
        Ok(Asked::Solve(self))
    }
}

const MESH: &str = "the mesh is refined until error bars are as short as asked for";
const SUMS: &str = "the fast multipole method follows the accuracy";
const PRECONDITIONER: &str = "the preconditioner is chosen for the problem";

/// Reads the words after the program's name.
pub fn parse(dialect: Dialect, words: &[String]) -> Result<Asked, String> {
    // Neither program has it, but callers of both ask so: KLayout-PEX from 0.6.12 on.
    if words.iter().any(|word| word == "--version") {
        return Ok(Asked::Version);
    }
    match dialect {
        Dialect::FasterCap => fastercap(words),
        Dialect::FastCap => fastcap(words),
    }
}

fn fastercap(words: &[String]) -> Result<Asked, String> {
    let mut request = Request::new();
    for word in words {
        let Some(option) = word.strip_prefix('-') else {
            request.input = PathBuf::from(word);
            continue;
        };
        let mut letters = option.chars();
        let (first, second) = (letters.next(), letters.next().map(|c| c.to_ascii_lowercase()));
        match (first, second) {
            (Some('b'), Some('?')) | (Some('?' | 'h'), _) => return Ok(Asked::Usage),
            (Some('b'), Some('v')) => return Ok(Asked::Version),
            (Some('a'), Some('p')) => request.remark(word, PRECONDITIONER),
            (Some('a'), _) => request.ask(word, number(word, &option[1..])?)?,
            (Some('m'), Some('c')) => {
                number(word, &option[2..])?;
                request.remark(word, MESH);
            }
            (Some('m' | 's'), _) => {
                number(word, &option[1..])?;
                request.remark(word, MESH);
            }
            (Some('t'), _) => {
                number(word, &option[1..])?;
                request.remark(word, "the tolerance of GMRES follows the accuracy");
            }
            (Some('d'), _) => {
                number(word, &option[1..])?;
                request.remark(word, SUMS);
            }
            (Some('f'), _) => {
                number(word, &option[1..])?;
                request.remark(word, "nothing is kept on the disk");
            }
            (Some('p'), Some('n' | 'j' | 'h')) => request.remark(word, PRECONDITIONER),
            (Some('p'), Some('b' | 's')) => {
                number(word, &option[2..])?;
                request.remark(word, PRECONDITIONER);
            }
            (Some('o'), Some('i')) => request.only_reads = true,
            (Some('o' | 'c'), _) => request.remark(
                word,
                "`farad solve` writes the refined mesh with its charges for ParaView",
            ),
            (Some('k'), _) => request.remark(word, "nothing is kept from run to run"),
            (Some('r'), _) => request.remark(word, "`farad solve` writes residuals.csv"),
            (Some('e'), _) => request.writes_matrix = true,
            (Some('i'), _) => request.has_details = true,
            // Galerkin's method is the only one; there is no window; output is always complete.
            (Some('g' | 'v' | 'b'), _) => {}
            _ => return Err(format!("illegal option {word}")),
        }
    }
    request.finish()
}

fn fastcap(words: &[String]) -> Result<Asked, String> {
    let mut request = Request::new();
    for word in words {
        let Some(option) = word.strip_prefix('-') else {
            request.input = PathBuf::from(word);
            continue;
        };
        let Some(first) = option.chars().next() else {
            return Err("panels are not read from the standard input; name a file".into());
        };
        let rest = &option[first.len_utf8()..];
        match first {
            'l' => request.input = PathBuf::from(rest),
            't' => {
                request.ask(word, number(word, rest)?)?;
                request.remarks.push(format!(
                    "{word} is taken as the error of each entry, that of the mesh included"
                ));
            }
            'p' => {
                request.permittivity = number(word, rest)?;
                if request.permittivity.is_nan() || request.permittivity <= 0.0 {
                    return Err(format!("{word}: the factor has to be greater than 0"));
                }
            }
            'o' | 'd' => {
                number(word, rest)?;
                request.remark(word, SUMS);
            }
            'r' if rest.starts_with(['s', 'i']) => {
                return Err(format!(
                    "{word}: conductors are not left out; leave their lines out of the list"
                ));
            }
            '?' => return Ok(Asked::Usage),
            'a' | 'e' | 'r' | 'h' | 's' | 'w' | 'u' | 'q' | 'm' | 'x' | 'b' | 'c' | 'v' | 'n'
            | 'f' | 'g' => request.remark(word, "`farad solve` writes pictures for ParaView"),
            _ => return Err(format!("illegal option {word}")),
        }
    }
    request.finish()
}

fn number(option: &str, text: &str) -> Result<f64, String> {
    let value: Result<f64, _> = text.parse();
    value.map_err(|_| format!("{option}: a number has to follow the letter, as in -a0.01"))
}
