//! Tests of what is inside the program: they look into `farad_cli::internals`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod case {
    mod diagnostics;
    mod json_schema;
    mod read;
    mod resolved;
    mod schema;
}
mod commands;
mod machine {
    mod deal;
    mod limits;
    mod pages;
}
mod paths;
mod report {
    mod json;
    mod made;
    mod results {
        mod checkpoint;
        mod csv;
    }
    mod text;
    mod text_table;
}
mod temporaries;
mod terminal {
    mod exit;
    mod progress;
}
