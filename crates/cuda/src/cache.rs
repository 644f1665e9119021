//! Compiled kernels under the user's cache folder. The cache is a convenience: whatever fails here
//! only costs a compilation.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// First bytes of a file.
const MAGIC: &[u8; 8] = b"farad\0k2";

/// Bytes before the kernel: [`MAGIC`] and two hashes.
const HEADER: usize = 24;

/// What decides a compiled kernel.
#[derive(Hash)]
pub struct Key<'a> {
    /// The file of the source.
    pub name: &'a str,
    /// The source.
    pub text: &'a str,
    /// Names and texts of the headers.
    pub headers: &'a [(&'a str, &'a str)],
    /// Options of the compiler.
    pub options: &'a [String],
    /// Version of the compiler: major, minor.
    pub compiler: (i32, i32),
}

impl Key<'_> {
    /// Two independent 64-bit hashes: 128 bits, as a file name.
    pub fn file(&self) -> String {
        let [first, second] = hashes(self);
        format!("{}-{first:016x}{second:016x}.cubin", self.name.replace(['.', '/'], "_"))
    }

    /// What stands before a kernel in its file: a kernel that was damaged, cut off or put under
    /// another's name does not agree with it, and would be machine code that does anything.
    fn header(&self, image: &[u8]) -> [u8; HEADER] {
        let [first, second] = hashes(&(self, image)).map(u64::to_le_bytes);
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8..16].copy_from_slice(&first);
        header[16..].copy_from_slice(&second);
        header
    }

    /// The bytes of a kernel's file.
    pub fn pack(&self, image: &[u8]) -> Vec<u8> {
        [&self.header(image), image].concat()
    }

    /// The kernel in a file's bytes, if it is the one that was put there.
    pub fn unpack(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (header, image) = bytes.split_at_checked(HEADER)?;
        (header == self.header(image)).then(|| image.to_vec())
    }

    fn path(&self) -> Option<PathBuf> {
        Some(folder()?.join(self.file()))
    }

    /// The kernel, if it was compiled before.
    pub(crate) fn load(&self) -> Option<Vec<u8>> {
        self.unpack(&fs::read(self.path()?).ok()?)
    }

    /// Keeps a kernel: written next to its place, then renamed, so that no reader ever sees half of
    /// it.
    pub(crate) fn store(&self, image: &[u8]) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Some(path) = self.path() else { return };
        let Some(folder) = path.parent() else { return };
        let unique = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{unique}", process::id()));
        // A file that is there already, or a link, is somebody else's.
        let mut create = fs::OpenOptions::new();
        create.write(true).create_new(true);
        let Ok(mut file) = fs::create_dir_all(folder).and_then(|()| create.open(&temporary)) else {
            return;
        };
        let written =
            file.write_all(&self.pack(image)).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }
}

/// Two independent 64-bit hashes.
fn hashes(of: &impl Hash) -> [u64; 2] {
    [1u64, 2].map(|seed| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        of.hash(&mut hasher);
        hasher.finish()
    })
}

/// `$FARAD_CACHE_DIR`, or `farad` in the user's cache folder; `None` where there is none.
fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("FARAD_CACHE_DIR") {
        return Some(folder.join("kernels"));
    }
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    Some(base?.join("farad").join("kernels"))
}
