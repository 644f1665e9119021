//! CUDA C++ to machine code for one GPU, by NVRTC.

use std::ffi::{CString, c_char};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{fmt, ptr, thread};

use cudarc::nvrtc::{result, sys};
use kernels::File;
use libloading::Library;

use crate::cache::Key;
use crate::probe::Capability;
use crate::{Error, library};

/// Stack of the thread that compiles: the compiler recurses deeper than the two megabytes that a
/// thread usually has.
const STACK: usize = 64 << 20;

/// A kernel file, and the constants that it is compiled with.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The file; what it includes is found by [`kernels::header`].
    pub file: File,
    /// Names and values of the constants that the file shares with the code that starts its
    /// kernels: macros of every compilation.
    pub constants: &'static [(&'static str, Constant)],
}

impl Source {
    /// The constants as macros NAME=VALUE.
    pub fn macros(&self) -> impl Iterator<Item = String> {
        self.constants.iter().map(|(name, value)| format!("{name}={value}"))
    }

    /// Names and texts of the headers that the file includes, and those that these include.
    ///
    /// # Errors
    /// [`Error::Compile`] when there is no header of a name.
    pub fn headers(&self) -> Result<Vec<(&'static str, &'static str)>, Error> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        let mut texts = vec![self.file.text];
        while let Some(text) = texts.pop() {
            for line in text.lines().filter_map(|line| line.strip_prefix("#include \"")) {
                let name = line.split('"').next().unwrap_or_default();
                if found.iter().any(|header| header.0 == name) {
                    continue;
                }
                let header = kernels::header(name);
                let text = header.ok_or_else(|| rejected(self, format!("no header {name}")))?;
                found.push((name, text));
                texts.push(text);
            }
        }
        Ok(found)
    }
}

/// A constant that a kernel file shares with the code that starts its kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// A whole number.
    Whole(i64),
    /// A number in double precision.
    Real(f64),
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => write!(f, "{value}"),
            // With an exponent: never taken for a whole number.
            Self::Real(value) => write!(f, "{value:e}"),
        }
    }
}

/// Machine code of `source` for `capability`, from the cache or the compiler; `defines` are
/// NAME=VALUE.
pub(crate) fn compile(
    source: &Source,
    defines: &[String],
    capability: Capability,
) -> Result<Vec<u8>, Error> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    if LIBRARY.get_or_init(|| library::keep(&["nvrtc"])).is_none() {
        return Err(Error::NoCompiler);
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: writes two integers.
    let answer = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor).result() };
    answer.map_err(|error| rejected(source, format!("{error:?}")))?;
    let mut options = vec![
        format!("--gpu-architecture=sm_{}{}", capability.major, capability.minor),
        "--std=c++17".to_owned(),
        "--extra-device-vectorization".to_owned(),
    ];
    let macros = source.macros().chain(defines.iter().cloned());
    options.extend(macros.map(|define| format!("--define-macro={define}")));
    let headers = source.headers()?;
    let key = Key {
        name: source.file.name,
        text: source.file.text,
        headers: &headers,
        options: &options,
        compiler: (major, minor),
    };
    if let Some(image) = key.load() {
        return Ok(image);
    }
    let image = alone(source, &options, &key)?;
    key.store(&image);
    Ok(image)
}

/// Compiles on a thread with room for it, one kernel at a time.
fn alone(source: &Source, options: &[String], key: &Key<'_>) -> Result<Vec<u8>, Error> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have compiled it meanwhile.
    if let Some(image) = key.load() {
        return Ok(image);
    }
    thread::scope(|scope| {
        let started = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || run(source, options, key.headers));
        match started.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(image)) => image,
            Ok(Err(_)) => Err(rejected(source, "the compiler's thread panicked".to_owned())),
            Err(error) => Err(rejected(source, format!("no thread for the compiler: {error}"))),
        }
    })
}

fn rejected(source: &Source, log: String) -> Error {
    Error::Compile { file: source.file.name.to_owned(), log }
}

/// A program of NVRTC, destroyed at the end of its scope.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created in `run` and used nowhere else.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

fn run(source: &Source, options: &[String], headers: &[(&str, &str)]) -> Result<Vec<u8>, Error> {
    let text = |s: &str| CString::new(s).map_err(|_| rejected(source, "a NUL byte".to_owned()));
    let (name, body) = (text(source.file.name)?, text(source.file.text)?);
    let names = headers.iter().map(|h| text(h.0)).collect::<Result<Vec<_>, _>>()?;
    let bodies = headers.iter().map(|h| text(h.1)).collect::<Result<Vec<_>, _>>()?;
    let pointers = |s: &[CString]| s.iter().map(|s| s.as_ptr()).collect::<Vec<*const c_char>>();
    let (names, bodies) = (pointers(&names), pointers(&bodies));
    let mut program = ptr::null_mut();
    // SAFETY: every pointer is to a NUL-terminated string that lives until the end of this
    // function, and the two arrays have as many elements as stated.
    let answer = unsafe {
        sys::nvrtcCreateProgram(
            &raw mut program,
            body.as_ptr(),
            name.as_ptr(),
            names.len() as i32,
            bodies.as_ptr(),
            names.as_ptr(),
        )
        .result()
    };
    answer.map_err(|error| rejected(source, format!("{error:?}")))?;
    let program = Program(program);
    // SAFETY: the program is valid, here and below.
    let answer = unsafe { result::compile_program(program.0, options) };
    if let Err(error) = answer {
        // SAFETY: as above; the log is a NUL-terminated string.
        let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
        let log: Vec<u8> = log.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
        return Err(rejected(source, format!("{error:?}\n{}", String::from_utf8_lossy(&log))));
    }
    let mut size = 0;
    // SAFETY: writes one integer.
    unsafe { sys::nvrtcGetCUBINSize(program.0, &raw mut size).result() }
        .map_err(|error| rejected(source, format!("{error:?}")))?;
    let mut image = vec![0u8; size];
    // SAFETY: the buffer has the size that the compiler asked for.
    unsafe { sys::nvrtcGetCUBIN(program.0, image.as_mut_ptr().cast()).result() }
        .map_err(|error| rejected(source, format!("{error:?}")))?;
    Ok(image)
}
