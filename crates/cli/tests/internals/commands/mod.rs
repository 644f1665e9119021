mod arguments;
mod batch {
    mod bars;
    mod difference;
    mod earlier;
}
mod fastercap {
    mod request;
    mod text;
}
mod fmm {
    mod npy;
    mod sum {
        mod error;
        mod report;
    }
}
mod forecast {
    mod slow;
    mod watch;
}

use clap::CommandFactory;
use farad_cli::internals::commands::Cli;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}
