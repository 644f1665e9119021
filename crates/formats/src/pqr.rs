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
//! [`charges`] makes point charges of them, [`Atom::in_scene`] atoms of a dielectric.

use std::collections::HashMap;

use farad::{Amount, Charge, LengthUnit};
use mesh::files::{Cause, FormatError, Line, Lines, parse_real};
use mesh::{MAX_COORDINATE, weld};

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

    /// The atom of a dielectric in a problem of this unit, called by chain, residue and name.
    pub fn in_scene(&self, unit: LengthUnit) -> farad::Atom {
        let chain = self.chain.iter().map(String::as_str);
        let words = chain.chain([self.residue.as_str(), self.number.as_str(), self.name.as_str()]);
        farad::Atom {
            name: words.collect::<Vec<_>>().join(" "),
            position: self.position_in(unit),
            charge: self.charge,
        }
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
/// Errors of writing to `out`.
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
    // Atoms of one key and one letter, then those of one key and different letters.
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
