//! What the tests of all crates that use a GPU share.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernels::File;

use crate::{Arguments, Device, Error, Parameter, Source};

/// The GPU that `open` gives, or none after saying why `test` is skipped; says how many ran and
/// were skipped so far.
///
/// # Errors
/// Why there is none, where FARAD_REQUIRE_GPU=1.
pub fn device_for(
    test: &str,
    open: impl FnOnce() -> Result<Device, Error>,
) -> Result<Option<Device>, Error> {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let device = open();
    let counter = if device.is_ok() { &RAN } else { &SKIPPED };
    counter.fetch_add(1, Ordering::Relaxed);
    let (ran, skipped) = (RAN.load(Ordering::Relaxed), SKIPPED.load(Ordering::Relaxed));
    let what = match &device {
        Ok(device) => format!("runs on {}", device.info().name),
        Err(error) => format!("skipped: {error}"),
    };
    // Past the harness, which hides what passing tests print; a closed stream is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{test} {what} (GPU tests: {ran} ran, {skipped} skipped)");
    match device {
        Ok(device) => Ok(Some(device)),
        Err(error) if std::env::var("FARAD_REQUIRE_GPU").is_ok_and(|v| v == "1") => Err(error),
        Err(_) => Ok(None),
    }
}

/// A kernel's name and parameters, as the code that starts it declares them.
pub type Signature = (&'static str, Vec<Parameter>);

/// The signature of the kernel that takes the arguments `A`.
pub fn signature<A: Arguments>() -> Signature {
    let mut parameters = Vec::new();
    A::parameters("", &mut parameters);
    (A::NAME, parameters)
}

/// A file and the kernels that are declared for it.
pub type Declared = (Source, Vec<Signature>);

/// Compares all files of a folder with what is declared for them ([`compare`]), and prints the
/// macros of each, which .ci/compile_kernels.py reads.
///
/// # Panics
/// When they differ, or a file is missing on either side.
#[allow(clippy::print_stdout, reason = "a part of tests")]
pub fn compare_all(files: &[File], declared: &[Declared]) {
    let names: BTreeSet<&str> = declared.iter().map(|of| of.0.file.name).collect();
    let there = files.iter().map(|file| file.name).collect();
    assert_eq!(names, there, "files that kernels are declared for, and files there");
    for (source, kernels) in declared {
        compare(source, kernels);
        println!("macros of {}: {:?}", source.file.name, source.macros().collect::<Vec<_>>());
    }
}

/// Compares the kernels that a file has with those that are declared for it: names, and each
/// parameter's name and type. What it includes must be there.
///
/// # Panics
/// When they differ, or a header is missing.
pub fn compare(source: &Source, declared: &[Signature]) {
    let there = kernels_of(source.file.text);
    let names = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    assert_eq!(
        names(declared.iter().map(|of| of.0.to_owned()).collect()),
        names(there.iter().map(|of| of.0.clone()).collect()),
        "kernels declared, and kernels in {}",
        source.file.name
    );
    for (kernel, parameters) in declared {
        let found = there.iter().find(|of| of.0 == *kernel).map_or(&[][..], |of| &of.1);
        let place = format!("{kernel} of {}", source.file.name);
        assert_eq!(parameters.len(), found.len(), "parameters of {place}");
        for (parameter, (of_type, name)) in parameters.iter().zip(found) {
            let pointer = of_type.ends_with('*');
            let of = of_type.trim_end_matches('*').trim();
            let agrees = parameter.name == name
                && parameter.pointer == pointer
                && parameter.types.contains(&of);
            assert!(agrees, "{place}: {parameter:?} is declared where it has {of_type} {name}");
        }
    }
    assert_eq!(source.headers().err(), None, "what {} includes", source.file.name);
}

/// The kernels of a CUDA source: name, and for each parameter its type, without `const`, and its
/// name.
#[doc(hidden)]
pub fn kernels_of(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    const START: &str = "extern \"C\" __global__ void";
    let code: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join(" ");
    code.split(START)
        .skip(1)
        .map(|rest| {
            // Launch bounds have parentheses too.
            let bounds = rest.trim_start().strip_prefix("__launch_bounds__");
            let rest = bounds.map_or(rest, after_parentheses);
            let (name, rest) = rest.split_once('(').unwrap_or((rest, ""));
            let list = rest.split(')').next().unwrap_or_default();
            let parameters = list.split(',').map(|parameter| {
                let words: Vec<&str> =
                    parameter.split_whitespace().filter(|&word| word != "const").collect();
                let (name, of_type) = words.split_last().unwrap_or((&"", &[]));
                (of_type.join(" "), (*name).to_owned())
            });
            (name.trim().to_owned(), parameters.collect())
        })
        .collect()
}

/// What follows the parentheses that a text begins with.
fn after_parentheses(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ')' && depth == 0
    });
    end.map_or("", |end| &text[end + 1..])
}
