//! Running the compiled program in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A fresh folder, in which one test runs the program.
pub struct Workplace(PathBuf);

/// How one run ended.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The repository's root.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Whether this process, and so what it starts, ignores a signal, as Linux tells.
#[cfg(unix)]
pub fn is_ignored(signal: &str) -> bool {
    let number = match signal {
        "-INT" => 2,
        "-TERM" => 15,
        _ => panic!("the number of {signal}"),
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    mask & (1 << (number - 1)) != 0
}

impl Workplace {
    /// The folder called `name`, emptied.
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if path.exists() {
            fs::remove_dir_all(&path).unwrap();
        }
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// The names in a folder, sorted.
    pub fn list(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with arguments split at blanks, in this folder.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farad"));
        command.args(arguments.split_whitespace()).current_dir(&self.0);
        command.stdin(Stdio::null()).env_remove("RUST_LOG").env("NO_COLOR", "1");
        command
    }

    /// The library that lets calls of the program fail (LD_PRELOAD), compiled.
    #[cfg(target_os = "linux")]
    pub fn faults(&self) -> PathBuf {
        let library = self.path("faults.so");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &repository().join("tests/faults.c")])
            .arg("-ldl")
            .status();
        assert!(compiled.unwrap().success(), "tests/faults.c needs a C compiler");
        library
    }

    pub fn farad(&self, arguments: &str) -> Ended {
        Ended::from(self.command(arguments).output().unwrap())
    }

    /// A run that must succeed.
    pub fn must(&self, arguments: &str) -> Ended {
        let ended = self.farad(arguments);
        assert_eq!(ended.code, 0, "farad {arguments}\n{}{}", ended.stdout, ended.stderr);
        ended
    }

    /// What `farad solve ... --json` prints.
    pub fn solve(&self, arguments: &str) -> Value {
        let ended = self.must(&format!("solve {arguments} --json"));
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// A mesh from `farad mesh generate`.
    pub fn generate(&self, shape: &str, file: &str) {
        self.must(&format!("mesh generate {shape} -o {file}"));
    }

    /// The shortest case for `file`, and whatever `more` says.
    pub fn case(&self, name: &str, file: &str, more: &str) {
        let text = format!("format = 1\n[mesh]\nfile = \"{file}\"\nunit = \"m\"\n{more}\n");
        self.write(name, text);
    }

    /// A sphere of 72 triangles and its case, for tests that ask nothing of the numbers.
    pub fn small(name: &str) -> Self {
        let place = Self::new(name);
        place.generate("sphere --elements 72", "sphere.msh");
        place.case("sphere.toml", "sphere.msh", "");
        place
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// Asserts the exit code and that each of `parts` is in what went to stderr.
    #[track_caller]
    pub fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "no \"{part}\" in\n{}", self.stderr);
        }
    }
}

/// The rows of a matrix in a JSON document.
pub fn matrix(value: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    value.as_array().unwrap().iter().map(row).collect()
}

/// C/(4 pi eps0) of a run.
pub fn maxwell(results: &Value) -> Vec<Vec<f64>> {
    matrix(&results["capacitance"]["maxwell_over_4pi_eps0"])
}

/// The keys of an object, sorted.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
