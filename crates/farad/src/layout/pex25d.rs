//! The text format PEX25D of KLayout-PEX: records of layers, dielectrics, conductors and shapes.
//!
//! ```
//! use farad::layout::pex25d;
//! use farad::{Options, Problem, Quiet};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "PEX25D 1.0\nUNITS LENGTH um GRID 0.001\nGROUND_PLANE sub Z_OFFSETS -0.3 0\n\
//!             METAL met1 Z_OFFSETS 1 1.4\nCONDUCTOR a a\n\
//!             BOX CONDUCTOR a LAYER met1 LL 0 0 UR 4 1\n";
//! let model = pex25d::read(Path::new("bar.pex25d"), false, |_| Ok(text.into()))?;
//! let solution = Problem::new(model.description, model.mesh)?.solve(&Options::default(), &Quiet)?;
//! assert_eq!(solution.matrices().maxwell_farad.len(), 1);
//! # Ok(())
//! # }
//! ```

use std::path::Path;

use mesh::files::{Cause, Error, FormatError, in_file};
use mesh::gmsh::Place as Where;
use mesh::outlines::Polygon;
use mesh::prisms::{self, Point};

use super::content::{At, Dielectric, Domain, Extent, Layout, Named, Owner, Shape};
use super::scene::Scene;
use super::{Model, no_surface};
use crate::units::LengthUnit;

/// The net of conductors that belong to none.
const FLOATING: &str = "FLOATING";

/// Records that say nothing about capacitance.
const WITHOUT_USE: [&str; 2] = ["RESISTANCE", "TERMINAL"];

/// Words that stand inside of records alone.
const CLAUSES: [&str; 21] = [
    "WRAPS",
    "PERMITTIVITY",
    "BETWEEN",
    "CONNECTS",
    "Z_OFFSETS",
    "LAYER",
    "LL",
    "UR",
    "OUTER",
    "HOLE",
    "X",
    "Y",
    "Z",
    "SHEET",
    "PER_CUT",
    "TC1",
    "TC2",
    "KIND",
    "THICKNESS_OVER_WRAPPED",
    "THICKNESS_BESIDE_WRAPPED",
    "THICKNESS_ON_FIELD",
];

/// Lengths may be off a whole number of grid units by this many of these.
const OFF_GRID: f64 = 1e-6;

/// Coordinates are exact up to here, sums of them too.
const MOST: f64 = (1u64 << 50) as f64;

/// Files within files, at most.
const DEEPEST: usize = 16;

/// Gets the bytes of a file.
type Load<'a> = &'a mut dyn FnMut(&Path) -> Result<Vec<u8>, Error>;

/// Whether the name ends in .pex25d.
pub fn is_name(path: &Path) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case("pex25d"))
}

/// Reads a file and those that it includes, whose bytes `load` gets; [`mesh::files::load`] gets
/// them from the disk. Records that are not known are skipped if this is `lenient`.
///
/// # Errors
/// Those of `load`, and [`Error::Format`], with the line, what is wrong and what to do.
pub fn read(
    path: &Path,
    lenient: bool,
    mut load: impl FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    Model::new(layout(path, lenient, &mut load)?)
}

/// What a file and those that it includes say.
fn layout(path: &Path, lenient: bool, load: Load<'_>) -> Result<Layout, Error> {
    let mut text = Text::default();
    text.layout.background = 1.0;
    text.layout.domain_said_by = "DOMAIN_MARGIN and DOMAIN_BOX say";
    text.read(path, lenient, load)?;
    let Text { mut layout, has_background, skipped } = text;
    if layout.shapes.is_empty() {
        let at = At { file: 0, place: Where::Line(1) };
        let message = "there is no shape in it; shapes are records BOX and POLYGON";
        return Err(layout.error(at, message));
    }
    if !skipped.is_empty() {
        layout
            .notes
            .push(format!("records that are not known are skipped: {}", skipped.join(", ")));
    }
    if !has_background {
        layout.notes.push("there is no DIELECTRIC_BACKGROUND: it is vacuum".into());
    }
    Ok(layout)
}

/// The error of a file in the format PEX25D if no surface can be made of its shapes.
pub(crate) fn without_surface(file: &[u8], fault: prisms::Fault) -> Result<Error, Error> {
    let layout = layout(Path::new("file.pex25d"), false, &mut |_| Ok(file.to_vec()))?;
    let scene = Scene::new(&layout)?;
    Ok(no_surface(&layout, &scene, fault))
}

/// A layout, and what else its text says.
#[derive(Default)]
struct Text {
    layout: Layout,
    has_background: bool,
    /// Records that were skipped because nothing is known of them.
    skipped: Vec<String>,
}

impl Text {
    /// The error of this text at a record.
    fn error(&self, at: At, message: impl Into<String>) -> Error {
        self.layout.error(at, message)
    }

    /// Reads a file and those that it includes.
    fn read(&mut self, path: &Path, lenient: bool, load: Load<'_>) -> Result<(), Error> {
        let bytes = load(path)?;
        let file = self.layout.files.len();
        self.layout.files.push(path.to_path_buf());
        let records = records(&bytes).map_err(in_file(path))?;
        if file == 0 {
            let is_header = |words: &Vec<String>| words[0] == "PEX25D";
            if !records.first().is_some_and(|(_, words)| is_header(words)) {
                let line = records.first().map_or(1, |(line, _)| *line);
                let message = "the first record must be the version, such as PEX25D 1.0";
                return Err(self.error(At { file, place: Where::Line(line) }, message));
            }
        }
        for (line, words) in records {
            let at = At { file, place: Where::Line(line) };
            let mut words = words.iter().map(String::as_str);
            let head = words.next().unwrap_or_default();
            if head == "INCLUDE" {
                let mut rest = Words { head, words, at, text: self };
                let name = rest.word("the name of a file")?.to_owned();
                rest.end()?;
                if self.layout.files.len() > DEEPEST {
                    let message = "too many files are included, or they include each other";
                    return Err(self.error(at, message));
                }
                let named = path.parent().unwrap_or(Path::new("")).join(&name);
                self.read(&named, lenient, load).map_err(|error| match error {
                    Error::Io { path, source } => self
                        .error(at, format!("the file {} cannot be read: {source}", path.display())),
                    other => other,
                })?;
                continue;
            }
            self.record(head, words, at, lenient)?;
        }
        Ok(())
    }

    fn record<'a>(
        &mut self,
        head: &str,
        words: impl Iterator<Item = &'a str>,
        at: At,
        lenient: bool,
    ) -> Result<(), Error> {
        let mut of = Words { head, words, at, text: self };
        match head {
            "PEX25D" => {
                let version = of.word("a version")?.to_owned();
                of.end()?;
                if version.split('.').next() != Some("1") {
                    let message = format!("this is version {version}; versions 1.x are read");
                    return Err(self.error(at, message));
                }
                self.layout.format = format!("PEX25D {version}");
            }
            "UNITS" => {
                of.keyword("LENGTH")?;
                let unit = of.word("um, nm or m")?;
                let is_known = ["um", "nm", "m"].contains(&unit);
                let Some(unit) = LengthUnit::from_name(unit).filter(|_| is_known) else {
                    return Err(of.unexpected("um, nm or m", Some(unit)));
                };
                of.keyword("GRID")?;
                let grid = of.positive("the grid")?;
                of.end()?;
                (self.layout.unit, self.layout.grid) = (Some(unit), grid);
            }
            "META" => {
                let (key, value) = (of.word("a key")?, of.word("a value")?);
                of.end()?;
                if key == "source_cell" {
                    self.layout.title = Some(value.to_owned());
                }
            }
            "GROUND_PLANE" | "METAL" => {
                let name = of.word("a name")?.to_owned();
                of.keyword("Z_OFFSETS")?;
                let heights = [of.length("the lower height")?, of.length("the upper height")?];
                of.end()?;
                if heights[0] >= heights[1] {
                    let message = format!("{head} {name}: the lower height must come first");
                    return Err(self.error(at, message));
                }
                let layer = Named { name, at, is: heights };
                if head == "METAL" {
                    self.layout.metals.push(layer);
                } else if self.layout.ground.is_some() {
                    return Err(self.error(at, "there is a GROUND_PLANE already"));
                } else {
                    self.layout.ground = Some(layer);
                }
            }
            "VIA" => {
                let name = of.word("a name")?.to_owned();
                of.keyword("CONNECTS")?;
                let below = of.word("the layer below")?.to_owned();
                let above = of.word("the layer above")?.to_owned();
                of.end()?;
                self.layout.vias.push(Named { name, at, is: [below, above] });
            }
            "DIELECTRIC_SIMPLE" | "DIELECTRIC_CONFORMAL" => {
                let name = of.word("a name")?.to_owned();
                of.keyword("WRAPS")?;
                let wraps = of.word("what it wraps")?.to_owned();
                of.keyword("PERMITTIVITY")?;
                let permittivity = of.positive("the relative permittivity")?;
                let extent = if head == "DIELECTRIC_SIMPLE" {
                    of.keyword("BETWEEN")?;
                    let below = of.word("the layer below")?.to_owned();
                    Extent::Between([below, of.word("the layer above")?.to_owned()])
                } else {
                    let mut thickness = |word: &str| -> Result<f64, Error> {
                        of.keyword(word)?;
                        match of.length(word)? {
                            thickness if thickness < 0.0 => {
                                let message = format!("{word} is negative; it is a thickness");
                                Err(of.text.error(at, message))
                            }
                            thickness => Ok(thickness),
                        }
                    };
                    Extent::Film {
                        over: thickness("THICKNESS_OVER_WRAPPED")?,
                        beside: thickness("THICKNESS_BESIDE_WRAPPED")?,
                        on_field: thickness("THICKNESS_ON_FIELD")?,
                    }
                };
                of.end()?;
                let is = Dielectric { wraps: Some(wraps), permittivity, extent };
                self.layout.dielectrics.push(Named { name, at, is });
            }
            "DIELECTRIC_BACKGROUND" => {
                of.word("a name")?;
                of.keyword("PERMITTIVITY")?;
                let is = of.positive("the relative permittivity")?;
                of.end()?;
                if self.has_background {
                    return Err(self.error(at, "there is a DIELECTRIC_BACKGROUND already"));
                }
                (self.has_background, self.layout.background) = (true, is);
            }
            "CONDUCTOR" => {
                let name = of.word("a name")?.to_owned();
                let is = match of.word("a net, or FLOATING")? {
                    FLOATING => Owner::Floating,
                    net => Owner::Net(net.to_owned()),
                };
                of.end()?;
                if self.layout.conductors.iter().any(|known| known.name == name) {
                    let message = format!("there is a CONDUCTOR {name} already");
                    return Err(self.error(at, message));
                }
                self.layout.conductors.push(Named { name, at, is });
            }
            "BOX" | "POLYGON" => {
                of.keyword("CONDUCTOR")?;
                let conductor = of.word("the name of a CONDUCTOR")?.to_owned();
                of.keyword("LAYER")?;
                let layer = of.word("the name of a METAL or VIA")?.to_owned();
                let polygon = if head == "BOX" { vec![of.rectangle()?] } else { of.rings()? };
                self.layout.shapes.push(Shape { conductor, layer, polygon, at });
            }
            "DOMAIN_MARGIN" => {
                let mut margin = [0.0; 3];
                for (axis, margin) in ["X", "Y", "Z"].into_iter().zip(&mut margin) {
                    of.keyword(axis)?;
                    *margin = of.length("a margin")?;
                }
                of.end()?;
                if margin.iter().any(|margin| *margin < 0.0) {
                    return Err(self.error(at, "a margin is negative"));
                }
                // A box wins.
                self.layout.domain.get_or_insert(Domain::Margin([margin[0], margin[1]]));
            }
            "DOMAIN_BOX" => {
                let mut corners = [[0.0; 3]; 2];
                for (word, corner) in ["LL", "UR"].into_iter().zip(&mut corners) {
                    of.keyword(word)?;
                    for x in corner {
                        *x = of.length("a coordinate")?;
                    }
                }
                of.end()?;
                let [[x, y, _], [u, v, _]] = corners;
                if x >= u || y >= v {
                    return Err(self.error(at, "the lower left corner (LL) must come first"));
                }
                self.layout.domain = Some(Domain::Box([[x, y], [u, v]]));
            }
            head if WITHOUT_USE.contains(&head) => {}
            head if CLAUSES.contains(&head) => {
                let message = format!(
                    "{head} stands inside of records only; a \\ at the end of the line before is missing"
                );
                return Err(self.error(at, message));
            }
            head if lenient => self.skipped.push(head.to_owned()),
            head => {
                let message = format!(
                    "the keyword {head} is not known; records begin with PEX25D, UNITS, META, INCLUDE, GROUND_PLANE, METAL, VIA, \
                     DIELECTRIC_SIMPLE, DIELECTRIC_CONFORMAL, DIELECTRIC_BACKGROUND, CONDUCTOR, BOX, POLYGON, TERMINAL, RESISTANCE, \
                     DOMAIN_MARGIN or DOMAIN_BOX; read leniently (--lenient), others are skipped"
                );
                return Err(self.error(at, message));
            }
        }
        Ok(())
    }
}

/// What is left of a record.
struct Words<'t, 'h, W> {
    head: &'h str,
    words: W,
    at: At,
    text: &'t Text,
}

impl<'a, W: Iterator<Item = &'a str>> Words<'_, '_, W> {
    fn unexpected(&self, expected: &str, found: Option<&str>) -> Error {
        let found = found.map_or("the end of the record".to_owned(), |word| format!("\"{word}\""));
        self.text.error(self.at, format!("{}: expected {expected}, found {found}", self.head))
    }

    fn word(&mut self, what: &str) -> Result<&'a str, Error> {
        self.words.next().ok_or_else(|| self.unexpected(what, None))
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), Error> {
        match self.words.next() {
            Some(word) if word == keyword => Ok(()),
            other => Err(self.unexpected(keyword, other)),
        }
    }

    fn number(&mut self, what: &str) -> Result<f64, Error> {
        let word = self.word(what)?;
        let digits = word.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
        let value = word.parse().ok().filter(|value: &f64| digits && value.is_finite());
        value.ok_or_else(|| self.unexpected(&format!("{what}, a number"), Some(word)))
    }

    fn positive(&mut self, what: &str) -> Result<f64, Error> {
        match self.number(what)? {
            value if value > 0.0 => Ok(value),
            value => {
                let message = format!("{what} is {value}; it must be greater than 0");
                Err(self.text.error(self.at, message))
            }
        }
    }

    /// A length in grid units.
    fn length(&mut self, what: &str) -> Result<f64, Error> {
        let value = self.number(what)?;
        let grid = self.text.layout.grid;
        if grid == 0.0 {
            let message = "lengths need UNITS LENGTH ... GRID ... in a line before";
            return Err(self.text.error(self.at, message));
        }
        let steps = value / grid;
        let whole = steps.round() + 0.0;
        if (steps - whole).abs() > OFF_GRID.max(4.0 * f64::EPSILON * whole.abs()) {
            let message = format!("{what} is {value}, which is no multiple of the GRID {grid}");
            return Err(self.text.error(self.at, message));
        }
        if whole.abs() > MOST {
            let message = format!("{what} is {value}, which is too far away");
            return Err(self.text.error(self.at, message));
        }
        Ok(whole)
    }

    fn point(&mut self) -> Result<Point, Error> {
        Ok([self.length("a coordinate x")?, self.length("a coordinate y")?])
    }

    fn rectangle(&mut self) -> Result<Vec<Point>, Error> {
        self.keyword("LL")?;
        let [x, y] = self.point()?;
        self.keyword("UR")?;
        let [u, v] = self.point()?;
        self.end()?;
        if x >= u || y >= v {
            let message = "the box has no area; its lower left corner (LL) must come first";
            return Err(self.text.error(self.at, message));
        }
        Ok(vec![[x, y], [u, y], [u, v], [x, v]])
    }

    fn rings(&mut self) -> Result<Polygon, Error> {
        self.keyword("OUTER")?;
        let mut rings: Vec<Vec<&str>> = vec![Vec::new()];
        for word in self.words.by_ref() {
            match rings.last_mut() {
                Some(ring) if word != "HOLE" => ring.push(word),
                _ => rings.push(Vec::new()),
            }
        }
        let mut polygon = Polygon::new();
        for ring in rings {
            let corners = ring.len() / 2;
            let (head, at, text) = (self.head, self.at, self.text);
            let mut words = Words { head, words: ring.into_iter(), at, text };
            let mut points = Vec::with_capacity(corners);
            for _ in 0..corners {
                points.push(words.point()?);
            }
            if let Some(odd) = words.words.next() {
                let message = format!("after \"{odd}\", a coordinate x, its y is missing");
                return Err(self.text.error(self.at, message));
            }
            points.dedup();
            if points.len() > 1 && points.first() == points.last() {
                points.pop();
            }
            if points.len() < 3 {
                let message = format!(
                    "the polygon has a ring of {} corner{}; rings have at least three",
                    points.len(),
                    if points.len() == 1 { "" } else { "s" }
                );
                return Err(self.text.error(self.at, message));
            }
            polygon.push(points);
        }
        Ok(polygon)
    }

    fn end(&mut self) -> Result<(), Error> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.unexpected("the end of the record", Some(word))),
        }
    }
}

/// The words of records, with the lines that they begin on: a \ at the end of a line continues a
/// record, a # begins a comment, and "" hold blanks together.
fn records(bytes: &[u8]) -> Result<Vec<(usize, Vec<String>)>, FormatError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Cause::Other("the text is not UTF-8".into()).on_line(line)
    })?;
    let mut found = Vec::new();
    let (mut begins, mut words) = (0, Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        if words.is_empty() {
            begins = number;
        }
        if !split(line, &mut words) && !words.is_empty() {
            found.push((begins, std::mem::take(&mut words)));
        }
    }
    if !words.is_empty() {
        found.push((begins, words));
    }
    Ok(found)
}

/// Adds the words of a line; whether the next one continues it.
fn split(line: &str, words: &mut Vec<String>) -> bool {
    let (mut is_quoted, mut word) = (false, None::<String>);
    let end = line.char_indices().find(|&(_, c)| {
        is_quoted ^= c == '"';
        c == '#' && !is_quoted
    });
    let line = line[..end.map_or(line.len(), |(at, _)| at)].trim_end();
    let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
    is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    goes_on
}
