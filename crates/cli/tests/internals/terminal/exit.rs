use farad_cli::internals::exit::Exit;

#[test]
fn the_help_names_every_code_once() {
    let help = Exit::help();
    for (exit, _) in Exit::MEANINGS {
        assert_eq!(help.matches(&format!("\n  {}  ", exit as u8)).count(), 1, "{exit:?}");
    }
}
