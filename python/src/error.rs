//! Errors of the library as exceptions of Python: the classes of `farad/_errors.py`, one for each
//! kind of exit code that the program has.

use std::fmt::Display;
use std::io::ErrorKind::NotFound;

use pyo3::prelude::*;

/// The class of an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Input,
    Memory,
    File,
    MissingFile,
    NoGpu,
    Internal,
    /// The caller is about to raise what asked for the end.
    Interrupted,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Input => "InputError",
            Self::Memory => "OutOfMemoryError",
            Self::File => "FileError",
            Self::MissingFile => "MissingFileError",
            Self::NoGpu => "NoGpuError",
            Self::Internal | Self::Interrupted => "InternalError",
        }
    }
}

/// An error before it is an exception, made where Python is not attached.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    message: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Display) -> Self {
        Self { kind, message: message.to_string() }
    }

    /// A wrong argument.
    pub(crate) fn input(message: impl Display) -> Self {
        Self::new(Kind::Input, message)
    }

    /// The exception. Text of others, such as names of groups, acts on no terminal.
    pub(crate) fn raise(&self, py: Python<'_>) -> PyErr {
        let message = formats::printable::printable(&self.message);
        let made = py
            .import("farad._errors")
            .and_then(|module| module.getattr(self.kind.class()))
            .and_then(|class| class.call1((message.as_ref(),)));
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<farad::Error> for Failure {
    fn from(error: farad::Error) -> Self {
        match error {
            farad::Error::Solve(inner) => inner.into(),
            farad::Error::Probes { .. } => Self::new(Kind::Memory, error),
            other => Self::input(other),
        }
    }
}

impl From<bem::Error> for Failure {
    fn from(error: bem::Error) -> Self {
        let units = farad::units::count;
        match error {
            bem::Error::Fmm(inner) => inner.into(),
            bem::Error::Gpu(inner) => fmm::Error::from(inner).into(),
            bem::Error::Interrupted => Self::new(Kind::Interrupted, error),
            bem::Error::Memory { what, needed, available, advice } => Self::new(
                Kind::Memory,
                format!(
                    "{what} needs {} bytes, more than the {} that may be used; {advice}; or raise memory_limit",
                    units(needed),
                    units(available)
                ),
            ),
            other => Self::input(other),
        }
    }
}

impl From<fmm::Error> for Failure {
    fn from(error: fmm::Error) -> Self {
        let kind = match &error {
            fmm::Error::Gpu(fmm::GpuError::OutOfMemory { .. }) | fmm::Error::GpuMemory { .. } => {
                Kind::Memory
            }
            fmm::Error::Gpu(_) => Kind::NoGpu,
            fmm::Error::Interrupted => Kind::Interrupted,
            _ => Kind::Input,
        };
        let advice = if kind == Kind::NoGpu { "; use backend=\"auto\" or \"cpu\"" } else { "" };
        Self::new(kind, format!("{error}{advice}"))
    }
}

impl From<mesh::files::Error> for Failure {
    fn from(error: mesh::files::Error) -> Self {
        let kind = match error {
            mesh::files::Error::Io { ref source, .. } if source.kind() == NotFound => {
                Kind::MissingFile
            }
            mesh::files::Error::Io { .. } => Kind::File,
            _ => Kind::Input,
        };
        Self::new(kind, error)
    }
}

impl From<mesh::generate::Error> for Failure {
    fn from(error: mesh::generate::Error) -> Self {
        Self::input(error)
    }
}

impl From<mesh::InvalidMesh> for Failure {
    fn from(error: mesh::InvalidMesh) -> Self {
        Self::input(error)
    }
}
