//! Internals for the test program `tests/internals`: not part of the interface, may change.

pub mod arguments {
    pub use crate::commands::arguments::parse_count;
}

pub mod batch {
    pub use crate::commands::batch::bars::bar;
    pub use crate::commands::batch::rows::{Done, Row};
    pub use crate::commands::batch::{checkpoint, earlier};
}

pub mod case {
    pub use crate::case::choices::UNITS;
    pub use crate::case::diagnostics::nearest;
    pub use crate::case::json_schema::json_schema;
    pub use crate::case::key_tables::markdown;
    pub use crate::case::read::parse;
    pub use crate::case::{FORMAT, Overrides, SCHEMA, VtkMode};
}

pub mod checkpoint {
    pub use crate::report::results::checkpoint::{Checkpoint, Inputs, framed, parsed};
}

pub mod commands {
    pub use crate::commands::Cli;
}

pub mod csv {
    pub use crate::report::results::csv::matrix;
}

pub mod difference {
    pub use crate::commands::batch::difference::parse;
}

pub mod exit {
    pub use crate::terminal::exit::{Exit, Failure};
}

pub mod fastercap {
    pub use crate::commands::fastercap::request::{
        ACCURACY, Asked, COARSEST, Dialect, Request, parse,
    };
    pub use crate::commands::fastercap::text::{general, labels, picofarads, significant, time};
}

pub mod files {
    pub use crate::temporaries::temporary_name;
}

pub mod forecast {
    pub use crate::commands::forecast::slow::{Known, carried_on};
    pub use crate::commands::forecast::watch::{Cost, Until, Watch};
}

pub mod json {
    pub use crate::report::json::text;
}

pub mod machine {
    pub use crate::machine::deal::{consecutive, largest_first};
    pub use crate::machine::limits::{of_groups, of_texts};
    pub use crate::machine::system::processor_seconds;
    pub use crate::machine::threads;
}

pub mod made {
    pub use crate::report::made::timestamp;
}

pub mod npy {
    pub use crate::commands::fmm::npy::{ALIGNMENT, Array, MAGIC, parse, write};
}

pub mod output {
    pub use crate::terminal::output::Output;
}

pub mod paths {
    pub use crate::paths::relative;
}

pub mod progress {
    pub use crate::terminal::progress::Bars;
}

pub mod series {
    pub use crate::commands::series::{Row, Rows};
}

pub mod sum {
    pub use crate::commands::fmm::sum::Input;
    pub use crate::commands::fmm::sum::error::{SAMPLE_SEED, direct_sums, relative_l2, sample};
    pub use crate::commands::fmm::sum::report::warnings;
}

pub mod temporaries {
    pub use crate::machine::system::remove_without_memory;
    pub use crate::temporaries::{LONGEST, PLACES, Temporary, known};
}

pub mod text {
    pub use crate::report::text::{
        csv_name, csv_quoted, printable_in_place, printable_json, toml_string,
    };
}

pub mod text_table {
    pub use crate::report::text_table::narrow_tables;
}
