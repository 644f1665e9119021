//! Work without the interpreter's lock: on threads of our own, stopped by Ctrl-C, followed by a
//! function of the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use bem::{Progress, Stage};
use fmm::Stop;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::dictionaries;
use crate::error::{Failure, Kind};

/// How often Python looks for signals and hears of progress.
const LOOK: Duration = Duration::from_millis(50);

/// How often a sum looks whether it is its turn.
const TURN: Duration = Duration::from_millis(1);

/// Time in which work must stop when it shall. After that it ends in the background:
/// some steps, such as a check of a large mesh, do not look whether they should.
const STOPPING: Duration = Duration::from_millis(1500);

/// Threads of a pool need more stack than usual: work that waits may take up other work.
const STACK: usize = 8 << 20;

/// More threads than any machine has.
const MOST_THREADS: usize = 1 << 12;

/// The pool that all work without a number of threads of its own shares, and the process that it
/// is of: threads do not live on in a fork.
static SHARED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The content of a mutex, also where a thread panicked with it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool of this number of threads, or the shared one.
pub(crate) fn pool(threads: Option<usize>) -> Result<Arc<ThreadPool>, Failure> {
    if let Some(count) = threads.filter(|count| !(1..=MOST_THREADS).contains(count)) {
        return Err(Failure::input(format!("threads is {count}; it must be 1 to {MOST_THREADS}")));
    }
    let build = || {
        // 0 is RAYON_NUM_THREADS, or as many as the process may use.
        let builder = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).stack_size(STACK);
        let failed =
            |error| Failure::new(Kind::Memory, format!("threads cannot be started: {error}"));
        builder.build().map(Arc::new).map_err(failed)
    };
    if threads.is_some() {
        return build();
    }
    let process = std::process::id();
    let mut shared = locked(&SHARED);
    match &*shared {
        Some((owner, pool)) if *owner == process => Ok(Arc::clone(pool)),
        _ => {
            let pool = build()?;
            // The threads of a parent's pool are not here to be ended.
            if let Some(parents) = shared.replace((process, Arc::clone(&pool))) {
                std::mem::forget(parents);
            }
            Ok(pool)
        }
    }
}

/// Progress of the solver.
#[derive(Clone, Debug, Default)]
struct Status {
    stage: &'static str,
    done: u64,
    total: u64,
    residual: Option<f64>,
    level: Option<farad::Level>,
    is_new: bool,
}

/// Stops a piece of work after Ctrl-C, and reports its progress.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    status: Mutex<Status>,
}

impl Watch {
    /// Reports a completed mesh.
    pub(crate) fn level(&self, level: &farad::Level) {
        let mut status = locked(&self.status);
        (status.level, status.is_new) = (Some(level.clone()), true);
    }

    /// That work goes on, or an error.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(Failure::new(Kind::Interrupted, "interrupted")),
            false => Ok(()),
        }
    }

    /// Calls the caller's function, if there is anything new.
    fn report(&self, py: Python<'_>, callback: &Py<PyAny>) -> PyResult<()> {
        let status = {
            let mut status = locked(&self.status);
            if !std::mem::take(&mut status.is_new) {
                return Ok(());
            }
            let level = status.level.take();
            Status { level, ..status.clone() }
        };
        let event = PyDict::new(py);
        event.set_item("stage", status.stage)?;
        event.set_item("done", status.done)?;
        event.set_item("total", status.total)?;
        event.set_item("residual", status.residual)?;
        if let Some(level) = status.level {
            event.set_item("level", dictionaries::level(py, &level)?)?;
        }
        callback.call1(py, (event,)).map(|_| ())
    }
}

impl Progress for Watch {
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool {
        let stage = match stage {
            Stage::Plan => "plan",
            Stage::NearField => "near field",
            Stage::Solve => "solve",
        };
        let mut status = locked(&self.status);
        let residual = status.residual.filter(|_| status.stage == stage);
        *status = Status { stage, done, total, residual, is_new: true, level: status.level.take() };
        !self.stopped.load(Ordering::Relaxed)
    }

    fn residual(&self, _: usize, relative: f64) {
        let mut status = locked(&self.status);
        (status.residual, status.is_new) = (Some(relative), true);
    }
}

/// The message of a panic.
fn of_panic(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Failure::new(
        Kind::Internal,
        format!("the library failed, which is a fault of it: {text}; please report this"),
    )
}

/// The result of work, panics as failures.
fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(of_panic(&*panic)))
}

fn no_thread(error: &std::io::Error) -> Failure {
    Failure::new(
        Kind::Memory,
        format!("no thread can be started: {error}; end others, or raise the limit of processes"),
    )
}

fn ended() -> Failure {
    Failure::new(Kind::Internal, "the library's thread ended without a word; please report this")
}

/// Does work that may take long, and listens to Ctrl-C meanwhile. `callback` is called with a
/// dictionary every now and then; what it raises ends the work. Locks are taken before work goes
/// to the pool: there, a thread that waits for parts of it may take up other work.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch, &ThreadPool) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(threads).map_err(|failure| failure.raise(py))?;
    let watch = Arc::new(Watch::default());
    let (sender, receiver) = sync_channel(1);
    let of_worker = Arc::clone(&watch);
    let worker = move || {
        let done = caught(|| work(&of_worker, &pool));
        // Nobody listens any more if the caller gave up.
        let _ = sender.send(done);
    };
    std::thread::Builder::new()
        .name("farad".to_owned())
        .stack_size(STACK)
        .spawn(worker)
        .map_err(|error| no_thread(&error).raise(py))?;
    // The receiver is only used here, but is not to be shared; a mutex says so.
    let receiver = Mutex::new(receiver);
    let wait = |duration| py.detach(|| locked(&receiver).recv_timeout(duration));
    loop {
        match wait(LOOK) {
            Ok(done) => {
                // The last news, so that bars end.
                if let (Ok(_), Some(callback)) = (&done, callback) {
                    watch.report(py, callback)?;
                }
                py.check_signals()?;
                return done.map_err(|failure| failure.raise(py));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ended().raise(py));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let heard = py.check_signals();
        let reported = heard.and_then(|()| callback.map_or(Ok(()), |to| watch.report(py, to)));
        if let Err(error) = reported {
            watch.stopped.store(true, Ordering::Relaxed);
            let _ = wait(STOPPING);
            return Err(error);
        }
    }
}

/// The end of a sum over arrays of the caller, which are not let go before it.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    wanted: AtomicBool,
    /// Stops the running sum.
    running: Mutex<Option<Stop>>,
}

impl Ending {
    fn want(&self) {
        let running = locked(&self.running);
        self.wanted.store(true, Ordering::Relaxed);
        if let Some(stop) = &*running {
            stop.set(true);
        }
    }

    fn check(&self) -> Result<(), Failure> {
        match self.wanted.load(Ordering::Relaxed) {
            true => Err(Failure::new(Kind::Interrupted, "interrupted")),
            false => Ok(()),
        }
    }

    /// Exclusive access for a sum, once the sums before it have ended.
    pub(crate) fn turn<'a, T>(&self, of: &'a Mutex<T>) -> Result<MutexGuard<'a, T>, Failure> {
        loop {
            self.check()?;
            match of.try_lock() {
                Ok(held) => return Ok(held),
                Err(TryLockError::Poisoned(held)) => return Ok(held.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(TURN),
            }
        }
    }

    /// Waits until a thread of the pool is free: another sum may hold them for minutes, and work
    /// over arrays of the caller cannot be taken back once the pool has it.
    fn thread_is_free(&self, pool: &ThreadPool) -> Result<(), Failure> {
        let (sender, receiver) = sync_channel(1);
        pool.spawn(move || {
            // Nobody listens any more after Ctrl-C.
            let _ = sender.send(());
        });
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(LOOK) {
            self.check()?;
        }
        Ok(())
    }

    /// A sum by the threads of the pool that `stop` ends. Nobody else's does it meanwhile.
    pub(crate) fn sum<T: Send>(
        &self,
        pool: &ThreadPool,
        stop: &Stop,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        self.thread_is_free(pool)?;
        {
            let mut running = locked(&self.running);
            self.check()?;
            *running = Some(stop.clone());
        }
        let done = caught(|| pool.install(work));
        *locked(&self.running) = None;
        stop.set(false);
        done
    }
}

/// Sums over arrays of the caller. Ctrl-C ends the sum, and is raised when it has ended.
pub(crate) fn summed<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Ending) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let ending = &Ending::default();
    let raise = |failure: Failure| failure.raise(py);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        let worker = move || {
            let done = caught(|| work(ending));
            let _ = sender.send(done);
        };
        let thread = std::thread::Builder::new().name("farad".to_owned()).stack_size(STACK);
        thread.spawn_scoped(scope, worker).map_err(|error| raise(no_thread(&error)))?;
        let receiver = Mutex::new(receiver);
        let mut heard = Ok(());
        loop {
            match py.detach(|| locked(&receiver).recv_timeout(LOOK)) {
                Ok(done) => {
                    heard?;
                    py.check_signals()?;
                    return done.map_err(raise);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(raise(ended())),
                Err(RecvTimeoutError::Timeout) if heard.is_ok() => {
                    heard = py.check_signals();
                    if heard.is_err() {
                        ending.want();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    })
}
