//! FasterCap's and FastCap's command lines and text, as the programs that call these read them.

use std::process::{Command, Stdio};

use crate::support::Workplace;

/// A cube of edge 1 at the origin, of the conductor `name`.
fn cube(name: &str) -> String {
    let mut text = "0 cube\n".to_owned();
    for (axis, height) in (0..3).flat_map(|axis| [(axis, 0.0), (axis, 1.0)]) {
        text += &format!("Q {name}");
        for (a, b) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
            let mut corner = [height; 3];
            (corner[(axis + 1) % 3], corner[(axis + 2) % 3]) = (a, b);
            text += &format!("  {} {} {}", corner[0], corner[1], corner[2]);
        }
        text += "\n";
    }
    text
}

/// Two cubes of 1 m, 1 m apart, the second in two surfaces of one group.
fn pair(name: &str) -> Workplace {
    let place = Workplace::new(name);
    place.write("deck/pair.lst", "C a.qui 1.0 0 0 0\nC b.qui 1.0 2 0 0\n");
    place.write("deck/a.qui", cube("left"));
    place.write("deck/b.qui", cube("right"));
    place
}

/// The last matrix in FasterCap's text: labels and rows.
fn last_matrix(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().rposition(|line| line.trim() == "Capacitance matrix is:").unwrap();
    let size: Vec<&str> = lines[at + 1].split(' ').collect();
    assert_eq!((size[0], size[2]), ("Dimension", "x"));
    let n: usize = size[1].parse().unwrap();
    let row = |line: &&str| {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let label = words.next().unwrap().to_owned();
        (label, words.map(|word| word.parse().unwrap()).collect())
    };
    lines[at + 2..at + 2 + n].iter().map(row).unzip()
}

/// What follows the last of these words.
fn after<'a>(text: &'a str, words: &str) -> &'a str {
    let at = text.rfind(words).unwrap_or_else(|| panic!("{words}: {text}"));
    text[at + words.len()..].lines().next().unwrap().trim()
}

#[test]
fn fastercap_s_callers_find_what_they_look_for() {
    let place = pair("fastercap_text");
    let reference = place.solve("deck/pair.lst --accuracy 1e-3");
    let exact = crate::support::matrix(&reference["capacitance"]["maxwell_farad"]);
    let line = "fastercap -b -i -v -a0.05 -d0.5 -m0.5 -f2 -ap -g -pj -e deck/pair.lst";
    let text = place.must(line).stdout;
    let (labels, matrix) = last_matrix(&text);
    assert_eq!(labels, ["g1_left", "g2_right"]);
    for remark in [
        "-d0.5 has no effect here: the fast multipole method follows the accuracy",
        "-f2 has no effect here: nothing is kept on the disk",
    ] {
        assert!(text.contains(remark), "{text}");
    }
    for i in 0..2 {
        for j in 0..2 {
            assert!((matrix[i][j] - exact[i][j]).abs() < 0.05 * exact[i][i], "{matrix:?}");
            assert_eq!(matrix[i][j], matrix[j][i]);
        }
    }
    assert_eq!(after(&text, "Input file:"), "deck/pair.lst");
    assert!(text.contains("Iteration number #0"), "{text}");
    let norm: f64 = after(&text, "capacitance (auto option):").parse().unwrap();
    assert!(norm > 0.0 && norm < 0.05, "{norm}");
    let norm_at = text.rfind("Weighted Frobenius").unwrap();
    assert!(norm_at > text.rfind("Dimension").unwrap());
    let kilobytes = after(&text, "Total allocated memory:").strip_suffix(" kilobytes").unwrap();
    assert!(kilobytes.parse::<u64>().unwrap() > 1000, "{kilobytes}");
    let seconds = after(&text, "Total time:").split('s').next().unwrap();
    assert!(seconds.parse::<f64>().unwrap() > 0.0, "{seconds}");
    let rows: Vec<Vec<f64>> = place
        .read("deck/pair.csv")
        .lines()
        .map(|row| row.split(", ").map(|entry| entry.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows, matrix);
}

#[test]
fn fastcap_s_callers_find_picofarads() {
    let place = pair("fastercap_fastcap");
    let text = place.must("fastcap -m -o2 -p2 -t0.02 -ldeck/pair.lst").stdout;
    for remark in [
        "-t0.02 is taken as the error of each entry, that of the mesh included",
        "-m has no effect here: `farad solve` writes pictures for ParaView",
    ] {
        assert!(text.contains(remark), "{text}");
    }
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("CAPACITANCE MATRIX, picofarads"));
    let rows = &lines[at.unwrap() + 2..];
    let cells: Vec<&str> = rows[0].split(' ').filter(|cell| !cell.is_empty()).collect();
    assert_eq!(&cells[..2], ["left%GROUP1", "1"]);
    let own: f64 = cells[2].parse().unwrap();
    let single = place.must("fastercap -a0.02 deck/pair.lst").stdout;
    let (_, matrix) = last_matrix(&single);
    // All permittivities twice as large.
    assert!((own / (2e12 * matrix[0][0]) - 1.0).abs() < 1e-3, "{own} {matrix:?}");
}

/// A program of FasterCap's name is FasterCap.
#[test]
fn the_name_of_the_program_chooses() {
    let place = pair("fastercap_name");
    let program = place.path("FasterCap");
    std::fs::hard_link(env!("CARGO_BIN_EXE_farad"), &program)
        .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_farad"), &program).map(|_| ()))
        .unwrap();
    let run = Command::new(&program)
        .args(["-b", "pair.lst", "-g", "-ap", "-a0.05"])
        .current_dir(place.path("deck"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let (labels, _) = last_matrix(&String::from_utf8(run.stdout).unwrap());
    assert_eq!(labels.len(), 2);
}

#[test]
fn codes_are_fastercap_s() {
    let place = pair("fastercap_codes");
    place.write("bad.lst", "C deck/a.qui one 0 0 0\n");
    for (line, code) in [
        ("fastercap -b?", 0),
        ("fastercap -bv", 0),
        ("fastercap --version", 0),
        ("fastcap --version", 0),
        ("fastercap", 64),
        ("fastercap -zz deck/pair.lst", 64),
        ("fastercap -a deck/pair.lst", 64),
        ("fastercap nowhere.lst", 66),
        ("fastercap bad.lst", 74),
        ("fastercap -oi deck/pair.lst", 0),
        ("fastcap -", 64),
    ] {
        let ended = place.farad(line);
        assert_eq!(ended.code, code, "{line}: {}", ended.stderr);
        assert_eq!(ended.stderr.is_empty(), code == 0, "{line}: {}", ended.stderr);
    }
}

/// KLayout-PEX takes the first number of this form, after the name or without it, and warns of
/// less.
#[test]
fn the_version_is_one_that_callers_take() {
    let told = pair("fastercap_version").must("fastercap --version").stdout;
    let numbers = told.split(|c: char| !c.is_ascii_digit() && c != '.').filter(|n| n.contains('.'));
    let first: Vec<u32> =
        numbers.take(1).flat_map(|n| n.split('.')).map(|n| n.parse().unwrap()).collect();
    assert!(first >= vec![6, 0, 9] && first.len() == 3, "{told}");
    assert!(told.contains("Farad"), "{told}");
}

#[test]
fn options_are_reported_in_their_words() {
    let place = pair("fastercap_words");
    for (options, remark) in [
        ("fastercap -t0.1", "has no effect here: the tolerance of GMRES follows the accuracy"),
        ("fastercap -o", "`farad solve` writes the refined mesh with its charges for ParaView"),
        (
            "fastercap -a0.5",
            "-a0.5: an error of 0.5 is not supported by error bars; 0.1is used instead",
        ),
    ] {
        let text = place.must(&format!("{options} -oi deck/pair.lst")).stdout;
        assert!(text.contains(remark), "{options}: {text}");
    }
    for (arguments, part) in [
        ("fastercap -a0 a.lst", "-a0: the relative error has to be greater than 0"),
        ("fastercap -ax a.lst", "-ax: a number has to follow the letter, as in -a0.01"),
        ("fastercap", "the name of the input file is missing"),
        ("fastercap -z a.lst", "illegal option -z"),
        ("fastcap -z1 a.lst", "illegal option -z1"),
        ("fastcap -", "panels are not read from the standard input; name a file"),
        ("fastcap -p0 a.qui", "-p0: the factor has to be greater than 0"),
        (
            "fastcap -rs1 a.qui",
            "-rs1: conductors are not left out; leave their lines out of the list",
        ),
    ] {
        place.farad(arguments).fails(64, &[part]);
    }
}
