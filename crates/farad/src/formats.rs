//! Capacitance matrices as other programs read them. These take them to be symmetric, so all have
//! the mean of both triangles.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::network::{self, Network, symmetric};
use crate::printable::{inert, printable_line};
use crate::solution::mutual;
use crate::units::{count, shortest};

/// Lines of SPICE files go on in the next one after this many characters.
const LINE: usize = 80;

/// One matrix and what it is of.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// What was solved.
    pub title: &'a str,
    /// The reduction that made the matrix.
    pub reduction: Option<&'a str>,
    /// What is wrong with it, after a semicolon; empty if nothing is.
    pub mark: &'a str,
    /// Its conductors.
    pub names: &'a [String],
    /// The whole Maxwell matrix in farad, shape (conductors, conductors).
    pub maxwell_farad: &'a [Vec<f64>],
}

/// The tables that Palace writes of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palace {
    /// The Maxwell matrix, `terminal-C.csv`.
    Maxwell,
    /// The mutual form, `terminal-Cm.csv`.
    Mutual,
    /// The inverse of the Maxwell matrix, `terminal-Cinv.csv`; NaN where there is none.
    Inverse,
}

/// Matrix Market's coordinates of the lower triangle, columns one after the other.
///
/// # Errors
/// Those of `out`.
pub fn matrix_market(out: &mut dyn Write, written: &Written<'_>) -> io::Result<()> {
    let matrix = symmetric(written.maxwell_farad);
    writeln!(out, "%%MatrixMarket matrix coordinate real symmetric")?;
    writeln!(out, "% {}", heading(written, |text| printable_line(text).into_owned()))?;
    for (index, name) in (1..).zip(written.names) {
        writeln!(out, "% {index} {}", printable_line(name))?;
    }
    let n = matrix.len();
    writeln!(out, "{n} {n} {}", n * (n + 1) / 2)?;
    for j in 0..n {
        for (i, row) in matrix.iter().enumerate().skip(j) {
            writeln!(out, "{} {} {:e}", i + 1, j + 1, row[j])?;
        }
    }
    Ok(())
}

/// A subcircuit of capacitors for SPICE; node 0 is the ground. Couplings of less than `threshold`
/// times the smaller total capacitance of their nets are added to ground.
///
/// # Errors
/// Those of `out`.
pub fn spice(out: &mut dyn Write, written: &Written<'_>, threshold: f64) -> io::Result<()> {
    let matrix = symmetric(written.maxwell_farad);
    let nodes = legal(written.names);
    let network = Network::new(&matrix, threshold);
    // Circuit simulators run what decks tell them, some of it in comments.
    writeln!(out, "* {}", heading(written, inert))?;
    writeln!(out, "* Node 0 is infinity, and all ground planes.")?;
    if network.neglected > 0 {
        writeln!(
            out,
            "* {} of less than {} of the smaller total capacitance of their nets {} left out",
            counted(network.neglected, "coupling"),
            shortest(threshold),
            if network.neglected == 1 { "is" } else { "are" },
        )?;
        writeln!(
            out,
            "* and added to ground: at most {:.1e} of the total capacitance of a net, which stays.",
            network.largest_share
        )?;
    } else {
        writeln!(out, "* All couplings are here.")?;
    }
    for (node, name) in nodes.iter().zip(written.names).filter(|(node, name)| node != name) {
        writeln!(out, "* {node}: {}", inert(name))?;
    }
    let whole = match written.reduction {
        Some(reduction) => format!("{}_{reduction}", written.title),
        None => written.title.to_owned(),
    };
    let circuit = legal(&[whole]).concat();
    let mut line = format!(".subckt {circuit}");
    for node in &nodes {
        if line.len() + 1 + node.len() > LINE {
            writeln!(out, "{line}")?;
            "+".clone_into(&mut line);
        }
        line = line + " " + node;
    }
    writeln!(out, "{line}")?;
    let mut count = 0;
    let mut capacitor = |out: &mut dyn Write, a: &str, b: &str, farad: f64| {
        count += 1;
        writeln!(out, "C{count} {a} {b} {farad:e}")
    };
    for (node, farad) in nodes.iter().zip(&network.to_ground).filter(|(_, farad)| **farad != 0.0) {
        capacitor(out, node, "0", *farad)?;
    }
    for &(i, j, farad) in &network.couplings {
        capacitor(out, &nodes[i], &nodes[j], farad)?;
    }
    writeln!(out, ".ends {circuit}")
}

/// A table of Palace's electrostatic solver: terminals by their numbers.
///
/// # Errors
/// Those of `out`.
pub fn palace(out: &mut dyn Write, written: &Written<'_>, which: Palace) -> io::Result<()> {
    let maxwell = symmetric(written.maxwell_farad);
    let (name, unit, matrix) = match which {
        Palace::Maxwell => ("C", "(F)", maxwell),
        Palace::Mutual => ("C_m", "(F)", mutual(&maxwell)),
        Palace::Inverse => {
            let nothing = || vec![vec![f64::NAN; maxwell.len()]; maxwell.len()];
            let found = network::inverse(&maxwell).unwrap_or_else(nothing);
            ("C\u{207b}\u{b9}", "(1/F)", found)
        }
    };
    write!(out, "{:>16}", "i")?;
    for j in 1..=matrix.len() {
        write!(out, ",{:>24}", format!("{name}[i][{j}] {unit}"))?;
    }
    writeln!(out)?;
    for (i, row) in (1u32..).zip(&matrix) {
        write!(out, "{:>16}", with_exponent(&format!("{:.9e}", f64::from(i))))?;
        for value in row {
            write!(out, ",{:>24}", with_exponent(&format!("{value:+.15e}")))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A number whose exponent has a sign and two digits, as in C.
fn with_exponent(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, size) = match exponent.strip_prefix('-') {
        Some(size) => ('-', size),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{size:0>2}")
}

/// The text that Ansys Q3D exports and qiskit-metal reads.
///
/// # Errors
/// Those of `out`.
pub fn q3d(out: &mut dyn Write, written: &Written<'_>) -> io::Result<()> {
    let matrix = symmetric(written.maxwell_farad);
    let names = legal(written.names);
    writeln!(out, "DesignVariation:")?;
    writeln!(out, "farad{}", written.mark)?;
    writeln!(out, "Problem Type:C")?;
    writeln!(out, "C Units:farad, G Units:mSie")?;
    writeln!(out, "Reduce Matrix:{}", written.reduction.unwrap_or("Original"))?;
    writeln!(out, "Frequency: 0 Hz")?;
    writeln!(out, "\nCapacitance Matrix")?;
    for name in &names {
        write!(out, "\t{name}")?;
    }
    writeln!(out)?;
    for (name, row) in names.iter().zip(&matrix) {
        write!(out, "{name}")?;
        for value in row {
            write!(out, "\t{value:E}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// "1 coupling", "1,200 couplings".
fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

fn heading(written: &Written<'_>, fit: impl Fn(&str) -> String) -> String {
    let of = match written.reduction {
        Some(reduction) => format!(", reduction {}", fit(reduction)),
        None => String::new(),
    };
    format!(
        "farad {}: capacitances in farad of {}{of}{}",
        env!("CARGO_PKG_VERSION"),
        fit(written.title),
        written.mark
    )
}

/// Names of letters, digits and _ that begin with a letter, none of them twice whatever their
/// case, and none that means the ground.
fn legal(names: &[String]) -> Vec<String> {
    let mut taken: HashSet<String> = ["gnd", "ground"].map(str::to_owned).into();
    let one = |name: &String| {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut plain: String = name.chars().map(plain).collect();
        if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
            plain = format!("n_{plain}");
        }
        let mut found = plain.clone();
        for count in 2.. {
            if taken.insert(found.to_lowercase()) {
                break;
            }
            found = format!("{plain}_{count}");
        }
        found
    };
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(
                said && text.contains("at most 5.0e-4 of the total"),
                threshold > 0.0,
                "{text}"
            );
            assert!(text.contains("* A_b_2: A_b\n"), "{text}");
        }
    }

    /// Simulators run lines of `.control` blocks, and some comments.
    #[test]
    fn a_deck_has_nothing_of_others_that_acts() {
        let names = ["a;b", "c\n.control\nshell touch d", "*# `e` $(f)"].map(str::to_owned);
        let title = "g\n*# shell touch h; \u{2028}.include \"/i\"";
        let maxwell = vec![vec![1.0, 0.5, 0.25]; 3];
        let written = Written {
            title,
            reduction: Some("j"),
            mark: "",
            names: &names,
            maxwell_farad: &maxwell,
        };
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
}
