//! PQR files: atoms with charges and radii.
//!
//! A line `ATOM` or `HETATM` holds, with blanks between: serial number, atom, residue, optionally a
//! chain, residue number, x, y, z, charge and radius. Lines that cannot be read so are read by the
//! columns of PDB2PQR, in which numbers touch each other from -100 and 1000 on. Lengths are in
//! angstrom, charges in elementary charges. Other records (REMARK, TER, END, ...) are skipped.
//! Refused are atoms that lie upon each other: those of a second MODEL, alternate locations,
//! copies; and PDB files, whose occupancies would be taken for charges. Format: APBS and PDB2PQR
//! documentation, "PQR molecular structure format".
//!
//! [`charges`] makes point charges of them, [`crate::Atom::from_pqr`] atoms of a dielectric.

use std::collections::HashMap;

use mesh::files::{Cause, FormatError, Line, Lines, parse_real};
use mesh::{MAX_COORDINATE, weld};

use crate::description::{Amount, Charge};
use crate::units::LengthUnit;

/// Records that may stand in a PQR or PDB file besides the atoms.
const SKIPPED: [&str; 22] = [
    "REMARK", "TER", "END", "ENDMDL", "MODEL", "HEADER", "TITLE", "COMPND", "SOURCE", "KEYWDS",
    "EXPDTA", "AUTHOR", "REVDAT", "JRNL", "CRYST1", "SEQRES", "HELIX", "SHEET", "SSBOND", "CONECT",
    "MASTER", "HET",
];

/// Atoms nearer to each other than this, in angstrom and each coordinate, are at one place.
const ONE_PLACE: f64 = 0.01;

/// Atoms of one name, residue and number within this of each other, in angstrom and each
/// coordinate, are one: no bond is so short.
const ONE_ATOM: f64 = 0.3;

/// So are those whose residues' names differ in the letter of an alternate location, within this.
const ALTERNATE: f64 = 3.0;

/// Fewer atoms than this may have charges that look like occupancies.
const FEWEST_OF_PDB: usize = 4;

/// Columns of a PDB file's line that hold occupancy and temperature factor.
const OCCUPANCY: std::ops::Range<usize> = 54..60;
const TEMPERATURE: std::ops::Range<usize> = 60..66;

/// Columns in which PDB2PQR writes an atom.
mod columns {
    use std::ops::Range;

    pub(super) const NAME: Range<usize> = 12..16;
    pub(super) const RESIDUE: Range<usize> = 16..20;
    pub(super) const CHAIN: Range<usize> = 21..22;
    /// With its insertion code.
    pub(super) const NUMBER: Range<usize> = 22..27;
    pub(super) const BLANK: [Range<usize>; 3] = [11..12, 20..21, 27..30];
    /// x, y, z, charge and radius, and how many digits each has after its point.
    pub(super) const VALUES: [(Range<usize>, usize); 5] =
        [(30..38, 3), (38..46, 3), (46..54, 3), (54..62, 4), (62..69, 4)];
}

/// Words after the record's name, without a chain and with one.
const WORDS: [usize; 2] = [9, 10];

/// What a line must be, for messages.
const LINE: &str = "an atom as \"ATOM serial name residue [chain] number x y z charge radius\"";

/// An atom of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// Name of the atom within its residue, such as CA.
    pub name: String,
    /// Name of the residue, such as LYS.
    pub residue: String,
    /// The chain, where the file has one.
    pub chain: Option<String>,
    /// Number of the residue, with its insertion code if it has one.
    pub number: String,
    /// Position in angstrom.
    pub position: [f64; 3],
    /// Charge in elementary charges.
    pub charge: f64,
    /// Radius in angstrom, 0 or greater.
    pub radius: f64,
    /// Line of the file, from 1.
    pub line: usize,
}

impl Atom {
    /// The position in another unit.
    pub fn position_in(&self, unit: LengthUnit) -> [f64; 3] {
        self.position.map(|x| x * LengthUnit::Angstrom.metres() / unit.metres())
    }
}

/// The atoms of a generated molecule, with names that count them: ten per residue.
pub fn named(atoms: &[mesh::generate::Atom]) -> Vec<Atom> {
    let named = |(index, atom): (usize, &mesh::generate::Atom)| Atom {
        name: ["C", "N", "H", "O"][index % 4].to_owned(),
        residue: "GLB".to_owned(),
        chain: None,
        number: (index / 10 + 1).to_string(),
        position: atom.position,
        charge: atom.charge,
        radius: atom.radius,
        line: index + 1,
    };
    atoms.iter().enumerate().map(named).collect()
}

/// The sum of the charges, in elementary charges.
pub fn net_charge(atoms: &[Atom]) -> f64 {
    atoms.iter().map(|atom| atom.charge).sum()
}

/// Point charges in a problem of this unit.
pub fn charges(atoms: &[Atom], unit: LengthUnit) -> Vec<Charge> {
    let charge = |atom: &Atom| Charge {
        position: atom.position_in(unit),
        amount: Amount::Elementary(atom.charge),
    };
    atoms.iter().map(charge).collect()
}

/// Writes atoms so that [`parse`] gives them back: coordinates to 1e-3 angstrom, charges and radii
/// to four digits.
///
/// # Errors
/// Those of `out`.
pub fn write(atoms: &[Atom], out: &mut dyn std::io::Write) -> std::io::Result<()> {
    for (index, atom) in atoms.iter().enumerate() {
        let Atom { name, residue, chain, number, position: [x, y, z], charge, radius, .. } = atom;
        let chain = chain.as_deref().unwrap_or_default();
        let serial = index + 1;
        write!(out, "ATOM {serial:>6}  {name:<3} {residue} {chain:<1} {number:>4}")?;
        writeln!(out, "    {x:>8.3} {y:>7.3} {z:>7.3} {charge:>7.4} {radius:.4}")?;
    }
    writeln!(out, "END")
}

/// Reads the content of a file: its atoms in their order, at least one.
///
/// # Errors
/// [`FormatError`]; any bytes at all may be given.
pub fn parse(bytes: &[u8]) -> Result<Vec<Atom>, FormatError> {
    let mut lines = Lines::new(bytes);
    let mut atoms = Vec::new();
    let mut models = 0;
    let mut like_pdb = true;
    while let Some(mut line) = lines.next_content(b"#", false) {
        let record = line.name(LINE)?;
        if let Some(glued) = record.strip_prefix("HETATM").or_else(|| record.strip_prefix("ATOM")) {
            // Serial numbers of five digits and more touch the record's name in fixed columns.
            if !glued.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(line.unexpected("ATOM or HETATM", Some(record.as_bytes())));
            }
            let raw = line.raw();
            let number = line.number();
            let atom = atom(&mut line, glued.is_empty())
                .or_else(|why| by_columns(raw, number).ok_or(why))?;
            like_pdb &= is_like_pdb(raw, &atom);
            atoms.push(atom);
            continue;
        }
        models += usize::from(record == "MODEL");
        if models > 1 {
            let message = "a second MODEL begins here; keep one model in the file, since the atoms of several lie upon each other";
            return Err(Cause::Other(message.into()).on_line(line.number()));
        }
        if !SKIPPED.contains(&record.as_str()) {
            return Err(line.unexpected(LINE, Some(record.as_bytes())));
        }
    }
    if atoms.is_empty() {
        let message = "the file has no atoms: no line begins with ATOM or HETATM";
        return Err(Cause::Other(message.into()).on_line(lines.number().max(1)));
    }
    if like_pdb && atoms.len() >= FEWEST_OF_PDB {
        let message = "this is a PDB file, not PQR: in the columns of charges and radii all atoms have occupancies and temperature \
                       factors; make a PQR file of it, by PDB2PQR for instance";
        return Err(Cause::Other(message.into()).on_line(atoms[0].line));
    }
    check_twice(&atoms)?;
    Ok(atoms)
}

/// Whether a line has an occupancy for a charge and a temperature factor for a radius: from 0 to 1,
/// two decimals, in PDB's columns.
fn is_like_pdb(line: &[u8], atom: &Atom) -> bool {
    let two_decimals = |columns: std::ops::Range<usize>| {
        let field = line.get(columns.clone()).unwrap_or_default();
        let goes_on =
            columns == TEMPERATURE && line.get(columns.end).is_some_and(u8::is_ascii_digit);
        !goes_on
            && field.iter().rposition(|byte| *byte == b'.') == Some(3)
            && field[4..].iter().all(u8::is_ascii_digit)
    };
    (0.0..=1.0).contains(&atom.charge) && two_decimals(OCCUPANCY) && two_decimals(TEMPERATURE)
}

/// Refuses atoms at one place, and an atom of one residue that is there twice next to itself.
fn check_twice(atoms: &[Atom]) -> Result<(), FormatError> {
    let twice = |first: &Atom, again: &Atom, what: &str| {
        let message = format!(
            "atom {} of {} {} {what} the one of line {}: a copy, or an alternate location; keep one of each, or the charge counts \
             twice",
            again.name, again.residue, again.number, first.line
        );
        Err(Cause::Other(message).on_line(again.line))
    };
    let positions: Vec<[f64; 3]> = atoms.iter().map(|atom| atom.position).collect();
    for (index, first) in weld::first_at(&positions, ONE_PLACE).into_iter().enumerate() {
        if first as usize != index {
            return twice(&atoms[first as usize], &atoms[index], "lies at the place of");
        }
    }
    let mut same: HashMap<[&str; 4], Vec<u32>> = HashMap::new();
    for (index, atom) in (0..).zip(atoms) {
        // The letter of an alternate location stands before the residue's name of three.
        let residue = match atom.residue.char_indices().nth(1) {
            Some((second, _)) if atom.residue.chars().count() == 4 => &atom.residue[second..],
            _ => &*atom.residue,
        };
        let chain = atom.chain.as_deref().unwrap_or_default();
        same.entry([&atom.name, chain, &atom.number, residue]).or_default().push(index);
    }
    // Those of one key and one letter, then those of one key and different ones.
    let mut same: Vec<Vec<u32>> = same.into_values().filter(|members| members.len() > 1).collect();
    // The same error each time.
    same.sort_unstable();
    for members in same {
        let positions: Vec<[f64; 3]> =
            members.iter().map(|&index| atoms[index as usize].position).collect();
        for (reach, alternate) in [(ONE_ATOM, false), (ALTERNATE, true)] {
            for (index, first) in weld::first_at(&positions, reach).into_iter().enumerate() {
                let [first, again] = [first as usize, index].map(|k| &atoms[members[k] as usize]);
                if first.line != again.line && (first.residue != again.residue) == alternate {
                    return twice(first, again, "is there already, next to it:");
                }
            }
        }
    }
    Ok(())
}

/// The atom of a line whose words stand in the columns of PDB2PQR, whatever touches there; `None`
/// if they do not.
fn by_columns(raw: &[u8], line: usize) -> Option<Atom> {
    let text = std::str::from_utf8(raw).ok().filter(|text| text.is_ascii())?.trim_end();
    let field = |columns: std::ops::Range<usize>| text.get(columns).map(str::trim);
    let word = |columns| field(columns).filter(|word| !word.is_empty() && !word.contains(' '));
    if columns::BLANK.into_iter().any(|columns| field(columns) != Some("")) {
        return None;
    }
    let mut values = [0.0; 5];
    for (value, (columns, digits)) in values.iter_mut().zip(columns::VALUES) {
        // Where their points are tells numbers in these columns from others.
        let is_last = columns.end == columns::VALUES[4].0.end;
        let number = if is_last { text.get(columns.start..)? } else { text.get(columns)? };
        let (whole, fraction) = number.split_once('.')?;
        let is_number = !whole.is_empty()
            && fraction.len() == digits
            && fraction.bytes().all(|digit| digit.is_ascii_digit());
        let number = if is_number { parse_real(number.trim_start().as_bytes()) } else { None };
        *value = number.filter(|value| value.abs() <= MAX_COORDINATE)?;
    }
    let [x, y, z, charge, radius] = values;
    let number = word(columns::NUMBER)?;
    let is_atom = radius >= 0.0 && number.bytes().any(|byte| byte.is_ascii_digit());
    is_atom.then_some(Atom {
        name: word(columns::NAME)?.to_owned(),
        residue: word(columns::RESIDUE)?.to_owned(),
        chain: word(columns::CHAIN).map(str::to_owned),
        number: number.to_owned(),
        position: [x, y, z],
        charge,
        radius,
        line,
    })
}

/// What follows the record's name, with the serial number unless that was read with it.
fn atom(line: &mut Line<'_>, serial: bool) -> Result<Atom, FormatError> {
    let number = line.number();
    let count = line.count() + usize::from(!serial);
    if !WORDS.contains(&count) {
        let found = format!(
            "{count} words after the record's name; numbers must have blanks between them, or stand in the columns of PDB2PQR"
        );
        return Err(Cause::expected(format!("{LINE}, {} or {} words", WORDS[0], WORDS[1]), found)
            .on_line(number));
    }
    if serial {
        line.name("a serial number")?;
    }
    let name = line.name("the name of an atom")?;
    let residue = line.name("the name of a residue")?;
    let chain = if count == WORDS[1] { Some(line.name("the name of a chain")?) } else { None };
    let residue_number = line.name("the number of a residue")?;
    if !residue_number.bytes().any(|byte| byte.is_ascii_digit()) {
        let mut rest = *line;
        if chain.is_none() && rest.word().is_some_and(|word| word.iter().all(u8::is_ascii_digit)) {
            let message = format!(
                "{LINE}; with the chain {residue_number} that is {} words, found {count}: one of the numbers is missing",
                WORDS[1]
            );
            return Err(Cause::Other(format!("expected {message}")).on_line(number));
        }
        let found = Some(residue_number.as_bytes());
        return Err(line.unexpected("the number of a residue", found));
    }
    let mut values = [0.0; 5];
    let names =
        ["x in angstrom", "y in angstrom", "z in angstrom", "the charge", "the radius in angstrom"];
    for (value, what) in values.iter_mut().zip(names) {
        let word = line.word();
        *value = word
            .and_then(parse_real)
            .filter(|value| value.abs() <= MAX_COORDINATE)
            .ok_or_else(|| line.unexpected(what, word))?;
    }
    let [x, y, z, charge, radius] = values;
    if radius < 0.0 {
        let found = radius.to_string();
        return Err(Cause::expected("a radius of 0 or greater", found).on_line(number));
    }
    let position = [x, y, z];
    Ok(Atom {
        name,
        residue,
        chain,
        number: residue_number,
        position,
        charge,
        radius,
        line: number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LYSOZYME: &str = "\
REMARK   1 PQR file generated by a test
REMARK   5 with a chain, without one, and glued
ATOM      1  N   LYS A   1       3.294  10.164  10.266 -0.3000 1.8500

ATOM      2  CA  LYS     1       2.445  10.457   9.100  0.2100 2.2750
HETATM123456 O HOH 12B -1.0 2e0 +3 -0.834 0
TER
END
";

    #[test]
    fn chains_are_optional_and_other_records_are_skipped() {
        let atoms = parse(LYSOZYME.as_bytes()).unwrap();
        assert_eq!(atoms.len(), 3);
        assert_eq!(atoms[0].chain.as_deref(), Some("A"));
        assert_eq!(atoms[1].chain, None);
        assert_eq!(atoms[1].position, [2.445, 10.457, 9.1]);
        assert_eq!((atoms[1].charge, atoms[1].radius), (0.21, 2.275));
        assert_eq!((atoms[2].name.as_str(), atoms[2].number.as_str()), ("O", "12B"));
        assert_eq!((atoms[2].position, atoms[2].radius, atoms[2].line), ([-1.0, 2.0, 3.0], 0.0, 6));
    }

    #[test]
    fn faults_name_the_line_and_what_was_expected() {
        let cases = [
            (
                "ATOM 1 N LYS 1 1 2 3 0.1\n",
                "line 1: expected an atom as \"ATOM serial name residue [chain] number x y z charge radius\", 9 or 10 words, found 8 words",
            ),
            (
                "REMARK\nATOM 1 N LYS A 1 1 2 x 0.1 1\n",
                "line 2: expected z in angstrom, found \"x\"",
            ),
            ("ATOM 1 N LYS A 1 1 2 3 0.1 nan\n", "expected the radius in angstrom, found \"nan\""),
            ("ATOM 1 N LYS A 1 1 2 3 0.1 -1\n", "expected a radius of 0 or greater, found -1"),
            ("ATOM 1 N LYS A 1 1 2 3-4.5 0.1 1\n", "expected z in angstrom, found \"3-4.5\""),
            ("ATOM 1 N LYS A 1 1 2 3 0.1 1.5 N\n", "found 11 words"),
            ("ATOM 1 N LYS A B 1 2 3 0.1 1\n", "expected the number of a residue, found \"B\""),
            (
                "ATOM 1 N LYS A 1 1 2 3 0.1\n",
                "with the chain A that is 10 words, found 9: one of the numbers is missing",
            ),
            ("ATOM 1 N LYS A B 1 2 3 0.1\n", "expected the number of a residue, found \"A\""),
            ("ATOMS 1 N LYS A 1 1 2 3 0.1 1\n", "expected ATOM or HETATM, found \"ATOMS\""),
            ("hello\n", "line 1: expected an atom as"),
            ("REMARK nothing\n", "line 1: the file has no atoms"),
            ("", "line 1: the file has no atoms"),
            (
                "MODEL 1\nATOM 1 N LYS 1 1 2 3 0 1\nENDMDL\nMODEL 2\n",
                "line 4: a second MODEL begins here",
            ),
        ];
        for (text, part) in cases {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(part), "{text:?}: {message}");
        }
    }

    /// What PDB2PQR writes without `--whitespace`: words of fixed width.
    #[test]
    fn columns_may_touch() {
        let text = "\
ATOM      1  N   MET     1      27.343  24.294-147.317 -0.3200 2.0000
ATOM      2 HH11ARG  A1000    -100.0001000.250-147.106-10.3300 2.2500
HETATM12345  O1  LIG A  12B   -127.343-124.294-147.317  0.5000 1.7000
";
        let atoms = parse(text.as_bytes()).unwrap();
        let found = |k: usize| {
            let Atom { name, residue, chain, number, position, charge, radius, line } = &atoms[k];
            let words = [&**name, residue, chain.as_deref().unwrap_or_default(), number].join(" ");
            (words, *position, *charge, *radius, *line)
        };
        assert_eq!(found(0), ("N MET  1".to_owned(), [27.343, 24.294, -147.317], -0.32, 2.0, 1));
        let second = ("HH11 ARG A 1000".to_owned(), [-100.0, 1000.25, -147.106], -10.33, 2.25, 2);
        assert_eq!(found(1), second);
        let third = ("O1 LIG A 12B".to_owned(), [-127.343, -124.294, -147.317], 0.5, 1.7, 3);
        assert_eq!(found(2), third);
        // Columns that are not those are not guessed at: a digit too many, words between, a column
        // more, no number where one has to be.
        for (from, to) in [
            ("-147.317 -0.32", "-147.3170 -0.32"),
            ("-147.317 -0.32", "-147.3x7 -0.32"),
            ("27.343", " 27.343"),
            (" -0.3200 2.0000", " -0.3200 2.000 0"),
            ("   1    ", "   A    "),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            let message = parse(changed.as_bytes()).unwrap_err().to_string();
            assert!(message.starts_with("line 1: "), "{to}: {message}");
        }
    }

    #[test]
    fn atoms_that_are_there_twice_are_refused() {
        let one = "ATOM 1 CA ALA A 7 1.0 2.0 3.0 0.5 1.9\n";
        let cases = [
            (one.to_owned(), "atom CA of ALA 7 lies at the place of the one of line 1"),
            // Under another name, as long as it is one place.
            (
                "ATOM 9 CB ALA A 8 1.004 2.0 3.0 0.1 1.9\n".into(),
                "atom CB of ALA 8 lies at the place of",
            ),
            (
                "ATOM 2 CA BALA A 7 1.2 2.1 2.7 0.5 1.9\n".into(),
                "atom CA of BALA 7 is there already",
            ),
        ];
        for (again, part) in cases {
            let text = format!("{one}ATOM 3 N ALA A 7 0.0 2.0 3.0 -0.5 1.9\n{again}");
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.starts_with("line 3: ") && message.contains(part), "{message}");
        }
        // Numbers that begin again, in another molecule; a bond's length away; two atoms of one
        // residue.
        for fine in [
            "ATOM 2 CA ALA A 7 9.0 2.0 3.0 0.5 1.9\n",
            "ATOM 2 H1 HOH B 7 1.96 2.0 3.0 0.5 1.9\n",
            "ATOM 2 CB ALA A 7 1.5 2.1 2.7 0.5 1.9\n",
            // Programs that do not know names and numbers write the same for all: a bond's length
            // away.
            "ATOM 2 CA ALA A 7 1.5 2.1 2.7 0.5 1.9\n",
        ] {
            assert_eq!(parse(format!("{one}{fine}").as_bytes()).unwrap().len(), 2, "{fine}");
        }
        let atoms =
            parse(format!("{one}ATOM 3 N ALA A 7 0.0 2.0 3.0 -0.25 1.9\n").as_bytes()).unwrap();
        assert_eq!(net_charge(&atoms), 0.25);
    }

    #[test]
    fn occupancies_are_not_taken_for_charges() {
        let line = |i: usize, charge: &str, radius: &str| {
            let x = f64::from(i as u32);
            format!(
                "ATOM  {i:>5}  CA  ALA A{i:>4}    {x:8.3}{x:8.3}{x:8.3}{charge:>6}{radius:>6}\n"
            )
        };
        let text = |count: usize, charge: &str| -> String {
            (1..=count).map(|i| line(i, if i == 2 { charge } else { "1.00" }, "13.79")).collect()
        };
        for occupancy in ["1.00", "0.50", "0.00"] {
            let message = parse(text(5, occupancy).as_bytes()).unwrap_err().to_string();
            assert!(message.starts_with("line 1: this is a PDB file, not PQR"), "{message}");
        }
        // A charge that no occupancy can be; too few to tell; other columns.
        assert!(parse(text(5, "-0.50").as_bytes()).is_ok());
        assert!(parse(text(3, "1.00").as_bytes()).is_ok());
        assert!(parse(text(5, "1.00").replace("13.79", " 2.000").as_bytes()).is_ok());
        assert!(parse(text(5, "1.00").replace("  1.00 13.79", " 1.0000 13.79").as_bytes()).is_ok());
    }

    #[test]
    fn generated_molecules_are_read_back() {
        let resolution = mesh::generate::Resolution::Elements(320);
        for atoms in [1, 30, 1000] {
            let molecule = mesh::generate::Molecule { atoms, resolution };
            let atoms = named(&molecule.atoms().unwrap());
            let mut file = Vec::new();
            write(&atoms, &mut file).unwrap();
            assert_eq!(parse(&file).unwrap(), atoms);
        }
    }

    #[test]
    fn charges_are_in_the_unit_of_the_problem() {
        let atoms = parse(b"ATOM 1 CA LYS A 12 1.0 -20.0 5.0 0.5 1.7\n").unwrap();
        let [charge] = charges(&atoms, LengthUnit::Nanometre)[..] else { panic!("one atom") };
        let expected: [f64; 3] = [0.1, -2.0, 0.5];
        for k in 0..3 {
            assert!((charge.position[k] - expected[k]).abs() < 1e-15, "{charge:?}");
        }
        assert_eq!(charge.amount, Amount::Elementary(0.5));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            position in prop::array::uniform3(-1e4f64..1e4),
            charge in -2.0f64..2.0,
            radius in 0.0f64..5.0,
            chain in prop::option::of("[A-Z]"),
        ) {
            let [x, y, z] = position;
            let words = chain.clone().unwrap_or_default();
            let text = format!("ATOM 7 CB ALA {words} 12 {x} {y} {z} {charge} {radius}\r\n");
            let atoms = parse(text.as_bytes()).unwrap();
            prop_assert_eq!(atoms[0].position, position);
            prop_assert_eq!(&atoms[0].chain, &chain);
            prop_assert_eq!((atoms[0].charge, atoms[0].radius), (charge, radius));
        }

        #[test]
        fn no_bytes_break_the_reader(at in 0usize..400, cut in 0usize..20, put in prop::collection::vec(any::<u8>(), 0..8)) {
            let bytes = LYSOZYME.as_bytes();
            let at = at % bytes.len();
            let changed = [&bytes[..at], &put, &bytes[(at + cut).min(bytes.len())..]].concat();
            if let Ok(atoms) = parse(&changed) {
                let fine = |a: &Atom| a.radius >= 0.0 && a.position.iter().all(|x| x.is_finite());
                prop_assert!(atoms.iter().all(fine));
            }
        }
    }
}
