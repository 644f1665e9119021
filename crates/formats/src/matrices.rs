//! Capacitance matrices as other programs read them. These take them to be symmetric, so all have
//! the mean of both triangles.

use std::collections::HashSet;
use std::io::{self, Write};

use farad::mutual;
use farad::units::{count, shortest};

use crate::network::{self, Network, symmetric};
use crate::printable::{inert, printable_line};

/// Lines of SPICE files go on in the next one after this many characters.
pub(crate) const LINE: usize = 80;

/// One matrix and what it is of.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// Title of the case.
    pub title: &'a str,
    /// The reduction that made the matrix.
    pub reduction: Option<&'a str>,
    /// Its faults, after a semicolon; empty if there are none.
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
/// Errors of writing to `out`.
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
/// Errors of writing to `out`.
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
/// Errors of writing to `out`.
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
pub(crate) fn with_exponent(text: &str) -> String {
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
/// Errors of writing to `out`.
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
pub(crate) fn legal(names: &[String]) -> Vec<String> {
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
