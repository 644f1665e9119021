//! The end of sums before they are through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;

/// Ends the sums of plans that were made with it, from any thread: they look whether they should
/// before they take up a run of boxes or points. Sums on a GPU only look before they begin.
///
/// ```
/// use fmm::{Densities, Error, Options, Plan, Potentials, Stop};
///
/// let stop = Stop::default();
/// let options = Options::default().stop(Some(stop.clone()));
/// let mut plan = Plan::new(&[[0.0; 3], [1.0; 3]], None, &options)?;
/// let mut sums = [0.0; 2];
/// let mut sum = || {
///     let densities = Densities { charges: Some(&[1.0, 1.0]), dipoles: None };
///     plan.apply(densities, Potentials { potential: Some(&mut sums), gradient: None })
/// };
/// stop.set(true);
/// assert!(matches!(sum(), Err(Error::Interrupted)));
/// stop.set(false);
/// assert!(sum().is_ok());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether sums shall end, with [`Error::Interrupted`]: those that run, and those that begin
    /// before it is taken back.
    pub fn set(&self, is_wanted: bool) {
        self.0.store(is_wanted, Ordering::Relaxed);
    }

    /// Whether sums shall end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error if sums shall end.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_set() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// The end of a plan's sums: one that has left something out fails, even if the [`Stop`] has been
/// taken back meanwhile.
#[derive(Debug, Default)]
pub struct Ending {
    stop: Stop,
    has_left_out: AtomicBool,
}

impl From<Stop> for Ending {
    fn from(stop: Stop) -> Self {
        Self { stop, ..Self::default() }
    }
}

impl Ending {
    /// Whether what has not begun is to be left out.
    pub fn is_set(&self) -> bool {
        let is_set = self.stop.is_set();
        if is_set {
            self.has_left_out.store(true, Ordering::Relaxed);
        }
        is_set
    }

    /// An error if the sum that ends here has left something out.
    pub fn check(&self) -> Result<(), Error> {
        if self.has_left_out.swap(false, Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        self.stop.check()
    }
}

/// True for clones of one flag.
impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
