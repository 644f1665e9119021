use farad_cli::internals::fastercap::{ACCURACY, Asked, COARSEST, Dialect, Request, parse};

fn asked(dialect: Dialect, line: &str) -> Result<Asked, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(dialect, &words)
}

fn request(dialect: Dialect, line: &str) -> Request {
    match asked(dialect, line).unwrap() {
        Asked::Solve(request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn command_lines_of_callers_are_read() {
    let fastercap = |line| request(Dialect::FasterCap, line);
    let pex = fastercap("-b -i -v -a0.05 -d0.5 -m0.5 -f2 -ap -g -pj x.lst");
    assert_eq!((pex.input.to_str(), pex.accuracy), (Some("x.lst"), 0.05));
    assert!(pex.has_details && !pex.writes_matrix);
    let rcx = fastercap("-b wires.lst -g -ap -a0.01");
    assert_eq!((rcx.input.to_str(), rcx.accuracy), (Some("wires.lst"), 0.01));
    assert_eq!(fastercap("a.lst").accuracy, ACCURACY);
    assert_eq!(fastercap("a.lst -a0.5").accuracy, COARSEST);
    assert!(fastercap("-e -oi a.lst").writes_matrix);
    let old =
        request(Dialect::FastCap, "-o2 -p2.5 -t0.02 -dauto5 -lx.lst".replace("auto", "").as_str());
    assert_eq!((old.input.to_str(), old.accuracy, old.permittivity), (Some("x.lst"), 0.02, 2.5));
}

#[test]
fn usage_and_version_are_printed() {
    for line in ["-b?", "-?", "-h"] {
        assert_eq!(asked(Dialect::FasterCap, line), Ok(Asked::Usage));
    }
    assert_eq!(asked(Dialect::FasterCap, "-bv"), Ok(Asked::Version));
    for dialect in [Dialect::FasterCap, Dialect::FastCap] {
        assert_eq!(asked(dialect, "--version"), Ok(Asked::Version));
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for line in ["", "-b", "-ax x.lst", "-a x.lst", "-a-1 x.lst", "-zz x.lst", "-psx x.lst"] {
        assert!(asked(Dialect::FasterCap, line).is_err(), "{line}");
    }
    for line in ["", "-", "-rs1,2 x", "-t x", "-p0 x"] {
        assert!(asked(Dialect::FastCap, line).is_err(), "{line}");
    }
}
