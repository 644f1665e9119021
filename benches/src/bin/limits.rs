//! What the machine's arithmetic allows, as one JSON object.
//!
//!     cargo run --release --manifest-path benches/Cargo.toml --bin limits [threads]

use std::process::ExitCode;
use std::thread::available_parallelism;

fn main() -> ExitCode {
    let threads = match std::env::args().nth(1).map(|text| text.parse::<usize>()) {
        None => available_parallelism().map_or(1, usize::from),
        Some(Ok(threads)) if threads > 0 => threads,
        Some(_) => {
            eprintln!("limits [threads]: threads must be a number greater than 0");
            return ExitCode::from(2);
        }
    };
    println!("{}", farad_benches::limits::measure(threads).json());
    ExitCode::SUCCESS
}
