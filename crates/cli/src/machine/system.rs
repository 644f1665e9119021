//! System calls that the standard library lacks, with a fallback for systems that lack them too.

#[cfg(unix)]
use std::ffi::CStr;
use std::io;
use std::path::Path;

/// Processors of the machine, whichever this process may run on.
#[cfg(target_os = "linux")]
pub(crate) fn processors() -> Option<usize> {
    // SAFETY: it takes a number and returns one.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).ok()
}

/// Processors of the machine: this system does not tell those that this process may run on apart.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processors() -> Option<usize> {
    None
}

/// Seconds that processors have spent on this process, on all of its threads.
#[cfg(unix)]
pub fn processor_seconds() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to a structure that lives here.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    (result == 0).then_some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
}

/// Seconds that processors have spent on this process: not known.
#[cfg(not(unix))]
pub fn processor_seconds() -> Option<f64> {
    None
}

/// This process, for people who look for it: "process 1234 on host".
pub(crate) fn this_process() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match host.trim() {
        "" => format!("process {}", std::process::id()),
        host => format!("process {} on {host}", std::process::id()),
    }
}

/// Exchanges two paths atomically.
#[cfg(target_os = "linux")]
pub(crate) fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    let [a, b] = [c_string(a)?, c_string(b)?];
    // SAFETY: both are strings that end with a zero and live until the call returns, which keeps
    // nothing of them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            a.as_ptr(),
            libc::AT_FDCWD,
            b.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Exchanges two paths atomically: not possible on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether two folders are alike in owner, group and how many bytes the names of their extended
/// attributes take (access lists are such), once `like` has the permissions of `folder`.
#[cfg(target_os = "linux")]
pub(crate) fn make_alike(like: &Path, folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let wanted = std::fs::metadata(folder)?;
    std::fs::set_permissions(like, wanted.permissions())?;
    let made = std::fs::metadata(like)?;
    let owners =
        (made.uid(), made.gid(), made.mode()) == (wanted.uid(), wanted.gid(), wanted.mode());
    Ok(owners && attributes(like)? == attributes(folder)?)
}

/// Whether two folders are alike: this system has no use for the answer.
#[cfg(not(target_os = "linux"))]
pub(crate) fn make_alike(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// The number of bytes in the names of a path's extended attributes.
#[cfg(target_os = "linux")]
fn attributes(path: &Path) -> io::Result<usize> {
    let path = c_string(path)?;
    // SAFETY: the path ends with a zero and lives until the call returns; with a size of 0 nothing
    // is written.
    let size = unsafe { libc::listxattr(path.as_ptr(), std::ptr::null_mut(), 0) };
    match usize::try_from(size) {
        Ok(size) => Ok(size),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Unsupported => Ok(0),
            error => Err(error),
        },
    }
}

#[cfg(target_os = "linux")]
fn c_string(path: &Path) -> io::Result<std::ffi::CString> {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}

/// A number that identifies a folder within its file system.
#[cfg(unix)]
pub(crate) fn identity(found: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

/// A number that identifies a folder within its file system: not known on this system.
#[cfg(not(unix))]
pub(crate) fn identity(_: &std::fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// Calls `install`, which sets handlers for the signals that ask a program to end, and lets those
/// of them be ignored that were ignored before: `nohup` and background jobs of shells mean it.
#[cfg(unix)]
pub(crate) fn keep_ignored<T>(install: impl FnOnce() -> T) -> T {
    const ASKING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    // SAFETY: all arguments are valid for the calls' duration: signal numbers from libc, and
    // structures of this function, which zeros are valid values of. Handlers other than "ignore"
    // are not touched.
    unsafe {
        let action = |signal| {
            let mut action: libc::sigaction = std::mem::zeroed();
            let known = libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0;
            (known && action.sa_sigaction == libc::SIG_IGN).then_some(signal)
        };
        let ignored: Vec<_> = ASKING.into_iter().filter_map(action).collect();
        // None of them may arrive between the two settings.
        let (mut blocked, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut blocked);
        for signal in &ignored {
            libc::sigaddset(&raw mut blocked, *signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
        let result = install();
        for signal in &ignored {
            libc::signal(*signal, libc::SIG_IGN);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// Calls `install`.
#[cfg(not(unix))]
pub(crate) fn keep_ignored<T>(install: impl FnOnce() -> T) -> T {
    install()
}

/// Makes a write beyond the limit of a file's size fail, as one to a full disk does, instead of
/// ending the process.
pub(crate) fn ignore_file_size_signal() {
    #[cfg(unix)]
    // SAFETY: the number of a signal, and "ignore", which is no function.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// The path of these bytes up to the first zero, which [`std::ffi::OsStr::as_encoded_bytes`] gave.
#[cfg(unix)]
pub(crate) fn path_of(bytes: &[u8]) -> Option<&Path> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = CStr::from_bytes_until_nul(bytes).ok()?.to_bytes();
    Some(Path::new(std::ffi::OsStr::from_bytes(bytes)))
}

/// The path of these bytes up to the first zero, where paths are text.
#[cfg(not(unix))]
pub(crate) fn path_of(bytes: &[u8]) -> Option<&Path> {
    let bytes = bytes.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(bytes).ok().map(Path::new)
}

/// Writes to standard error past whatever locks it, without memory.
#[cfg(unix)]
pub(crate) fn write_to_stderr(text: &[u8]) {
    // SAFETY: `text.len()` bytes can be read there, and the call keeps nothing of them.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// Writes to standard error: this system has locks and memory for it.
#[cfg(not(unix))]
pub(crate) fn write_to_stderr(text: &[u8]) {
    let _ = io::Write::write_all(&mut io::stderr(), text);
}

/// Ends the process without anything that is done at its end.
pub(crate) fn exit_at_once(code: i32) -> ! {
    #[cfg(unix)]
    // SAFETY: it takes a number, and nothing comes after it.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(unix))]
    std::process::exit(code)
}

/// Removes what is at a path that ends with a zero, of a folder all that is in it if it is to go
/// whole; without memory.
#[cfg(target_os = "linux")]
pub fn remove_without_memory(path: &[u8], is_whole: bool) {
    if let Ok(path) = CStr::from_bytes_until_nul(path) {
        remove_in(libc::AT_FDCWD, path, if is_whole { DEPTH } else { 0 });
    }
}

/// Removes a file or an empty folder: this system cannot list folders without memory.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn remove_without_memory(path: &[u8], _: bool) {
    if let Ok(path) = CStr::from_bytes_until_nul(path) {
        // SAFETY: the path ends with a zero, and the calls keep nothing of it.
        unsafe {
            libc::unlink(path.as_ptr());
            libc::rmdir(path.as_ptr());
        }
    }
}

/// Leaves what is there to the next run: this system removes with memory alone.
#[cfg(not(unix))]
pub fn remove_without_memory(_: &[u8], _: bool) {}

/// Folders in each other that are removed without memory.
#[cfg(target_os = "linux")]
const DEPTH: usize = 8;

/// Removes a name in an open folder, and its content up to `depth` folders deep. Links are removed
/// and not followed.
#[cfg(target_os = "linux")]
fn remove_in(folder: libc::c_int, name: &CStr, depth: usize) {
    /// Where the length of an entry and its name are in `struct linux_dirent64`.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: names end with a zero and live until the calls return; the buffer is as long as is
    // said; what is closed was opened here.
    unsafe {
        if libc::unlinkat(folder, name.as_ptr(), 0) == 0 {
            return;
        }
        if depth > 0 {
            let opened = libc::openat(folder, name.as_ptr(), flags);
            let mut buffer = [0u8; 2048];
            loop {
                let (to, size) = (buffer.as_mut_ptr(), buffer.len());
                let read = libc::syscall(libc::SYS_getdents64, opened, to, size);
                let Some(mut rest) = usize::try_from(read).ok().and_then(|n| buffer.get(..n))
                else {
                    break;
                };
                if rest.is_empty() {
                    break;
                }
                while let Some(&[low, high]) = rest.get(LENGTH..LENGTH + 2) {
                    let length = usize::from(u16::from_ne_bytes([low, high]));
                    let Some((entry, after)) = rest.split_at_checked(length) else { break };
                    let inside = entry.get(NAME..).unwrap_or_default();
                    match CStr::from_bytes_until_nul(inside) {
                        Ok(name) if name != c"." && name != c".." => {
                            remove_in(opened, name, depth - 1);
                        }
                        _ => {}
                    }
                    rest = after;
                }
            }
            libc::close(opened);
        }
        libc::unlinkat(folder, name.as_ptr(), libc::AT_REMOVEDIR);
    }
}
