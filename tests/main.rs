//! Whole runs of the program, checked against exact answers and against what its documentation
//! promises.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accuracy;
mod atomic_results;
mod batch;
mod case_file;
mod corpora;
mod deterministic;
mod estimates;
mod exit_codes;
mod fastcap;
mod fastercap;
mod fields;
mod films;
mod fmm_commands;
#[path = "../crates/formats/tests/internals/layout/gds/testing.rs"]
mod gds_writer;
mod layouts;
mod matrix;
mod mesh_commands;
mod molecules;
mod nets;
mod planes;
mod probes;
mod reductions;
mod regression;
mod report;
mod results_folder;
mod resume;
mod sensitivities;
mod solve;
mod study;
mod support;
mod surface;
mod sweep;
