use std::io::{self, Write};

use formats::internals::matrices::{LINE, legal, with_exponent};
use formats::matrices::{Palace, Written, matrix_market, palace, q3d, spice};
use formats::network::symmetric;

const NAMES: [&str; 4] = ["a b", "A_b", "0", "gnd"];

fn names() -> Vec<String> {
    NAMES.map(str::to_owned).to_vec()
}

/// Symmetric but for what a solve leaves, and one coupling that is hardly any.
fn matrix() -> Vec<Vec<f64>> {
    vec![
        vec![4e-12, -1e-12, -2e-12, -1.5e-15],
        vec![-1.002e-12, 3e-12, -5e-13, -2e-13],
        vec![-2e-12, -5e-13, 5e-12, -1e-12],
        vec![-0.5e-15, -2e-13, -1e-12, 2e-12],
    ]
}

fn text(write: impl Fn(&mut dyn Write, &Written<'_>) -> io::Result<()>) -> String {
    let (names, maxwell_farad) = (names(), matrix());
    let mark = "; NOT CONVERGED";
    let title = "two\nlines";
    let written =
        Written { title, reduction: None, mark, names: &names, maxwell_farad: &maxwell_farad };
    let mut out = Vec::new();
    write(&mut out, &written).unwrap();
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn assert_read(found: &[Vec<f64>]) {
    let expected = symmetric(&matrix());
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-27, "{found} {expected}");
    }
}

#[test]
fn names_are_legal_and_different() {
    assert_eq!(legal(&names()), ["a_b", "A_b_2", "n_0", "gnd_2"]);
    let clash = ["x_2", "x", "X", "x."].map(str::to_owned);
    assert_eq!(legal(&clash), ["x_2", "x", "X_3", "x_"]);
}

#[test]
fn matrix_market_reads_back() {
    let text = text(matrix_market);
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), "%%MatrixMarket matrix coordinate real symmetric");
    assert!(lines.next().unwrap().ends_with("of two\\nlines; NOT CONVERGED"), "{text}");
    let mut lines = lines.skip_while(|line| line.starts_with('%'));
    assert_eq!(lines.next().unwrap(), "4 4 10");
    let mut found = vec![vec![f64::NAN; 4]; 4];
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [i, j] = [0, 1].map(|k| words[k].parse::<usize>().unwrap() - 1);
        assert!(i >= j, "{line}");
        found[i][j] = words[2].parse().unwrap();
        found[j][i] = found[i][j];
    }
    assert_read(&found);
}

/// Capacitors add up to the matrix, but for what is said to be left out.
#[test]
fn a_subcircuit_has_the_matrix() {
    for (threshold, neglected) in [(0.0, 0.0), (1e-3, 1e-15)] {
        let text = text(|out, written| spice(out, written, threshold));
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('*')).collect();
        assert_eq!(lines[0], ".subckt two_lines a_b A_b_2 n_0 gnd_2");
        assert_eq!(lines.last().unwrap(), &".ends two_lines");
        let nodes: Vec<&str> = lines[0].split(' ').skip(2).collect();
        let mut found = vec![vec![0.0; 4]; 4];
        for (k, line) in lines[1..lines.len() - 1].iter().enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words[0], format!("C{}", k + 1));
            let farad: f64 = words[3].parse().unwrap();
            let [a, b] = [1, 2].map(|k| nodes.iter().position(|node| *node == words[k]));
            let a = a.unwrap();
            found[a][a] += farad;
            if let Some(b) = b {
                found[b][b] += farad;
                found[a][b] -= farad;
                found[b][a] -= farad;
            } else {
                assert_eq!(words[2], "0");
            }
        }
        assert_eq!(found[0][3] == 0.0, threshold > 0.0, "{text}");
        found[0][3] -= neglected;
        found[3][0] -= neglected;
        assert_read(&found);
        let said = text.contains("* 1 coupling of less than 0.001 of the smaller");
        assert_eq!(said && text.contains("at most 5.0e-4 of the total"), threshold > 0.0, "{text}");
        assert!(text.contains("* A_b_2: A_b\n"), "{text}");
    }
}

/// Simulators run lines of `.control` blocks, and some comments.
#[test]
fn a_deck_has_nothing_of_others_that_acts() {
    let names = ["a;b", "c\n.control\nshell touch d", "*# `e` $(f)"].map(str::to_owned);
    let title = "g\n*# shell touch h; \u{2028}.include \"/i\"";
    let maxwell = vec![vec![1.0, 0.5, 0.25]; 3];
    let written =
        Written { title, reduction: Some("j"), mark: "", names: &names, maxwell_farad: &maxwell };
    let mut out = Vec::new();
    spice(&mut out, &written, 0.0).unwrap();
    for line in String::from_utf8(out).unwrap().lines() {
        let is_ours = [
            "* farad ",
            "* Node 0 ",
            "* All ",
            "* a_b: ",
            "* c__",
            "* n__",
            ".subckt ",
            "+ ",
            "C",
            ".ends ",
        ];
        assert!(is_ours.iter().any(|start| line.starts_with(start)), "{line}");
        let inert = |c: char| c.is_ascii_alphanumeric() || " ._-:,*+".contains(c);
        assert!(line.chars().all(inert), "{line}");
    }
}

#[test]
fn many_nodes_go_on_in_the_next_line() {
    let names: Vec<String> = (0..100).map(|k| format!("net_{k}")).collect();
    let maxwell: Vec<Vec<f64>> =
        (0..100).map(|i| (0..100).map(|j| f64::from(i == j)).collect()).collect();
    let written = Written {
        title: "many",
        reduction: Some("some"),
        mark: "",
        names: &names,
        maxwell_farad: &maxwell,
    };
    let mut out = Vec::new();
    spice(&mut out, &written, 1e-3).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().all(|line| line.len() <= LINE), "{text}");
    let joined = text.replace("\n+", "");
    assert!(joined.contains(&format!(".subckt many_some {}\n", names.join(" "))), "{joined}");
}

#[test]
fn palaces_tables_read_back() {
    let text = text(|out, written| palace(out, written, Palace::Maxwell));
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.split(',').map(str::trim).collect()).collect();
    let heading = ["i", "C[i][1] (F)", "C[i][2] (F)", "C[i][3] (F)", "C[i][4] (F)"];
    assert_eq!(rows[0], heading);
    assert_eq!(rows[2][..2], ["2.000000000e+00", "-1.001000000000000e-12"]);
    let number = |word: &&str| word.parse().unwrap();
    let found: Vec<Vec<f64>> =
        rows[1..].iter().map(|row| row[1..].iter().map(number).collect()).collect();
    assert_read(&found);
    assert_eq!(with_exponent("1.5e100"), "1.5e+100");
}

#[test]
fn q3ds_text_reads_back() {
    let text = text(q3d);
    let units = text.split("C Units:").nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(units, "farad");
    let parts: Vec<&str> = text.split("Capacitance Matrix").collect();
    assert_eq!(parts.len(), 2);
    let mut rows = parts[1].trim().lines().map(|line| line.split_whitespace());
    let names: Vec<&str> = rows.next().unwrap().collect();
    assert_eq!(names, ["a_b", "A_b_2", "n_0", "gnd_2"]);
    let mut found = Vec::new();
    for (mut row, name) in rows.zip(&names) {
        assert_eq!(row.next().unwrap(), *name);
        found.push(row.map(|word| word.parse().unwrap()).collect::<Vec<f64>>());
    }
    assert_read(&found);
}
