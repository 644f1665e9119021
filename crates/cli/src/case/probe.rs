//! `[[probe]]`: where potential and field are wanted.

use std::path::{Path, PathBuf};

use super::VtkMode;
use super::diagnostics::{Defect, Located, Sort};
use super::document::Section;
use super::read::existing;

/// More points than this in a box are taken for a mistake.
const MOST_POINTS: f64 = 1e8;

/// One set of points.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) name: Located<String>,
    pub(crate) place: Place,
}

/// Where the points are, in the mesh's unit.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In a file, x, y and z a line.
    File(PathBuf),
    /// Evenly from one end to the other.
    Line { from: [f64; 3], to: [f64; 3], count: usize },
    /// A grid of points along the axes; a plane where one count is 1.
    Grid { low: [f64; 3], high: [f64; 3], counts: [usize; 3] },
}

impl Probe {
    /// The file of its values.
    pub(crate) fn file(&self) -> String {
        let ending = match self.place {
            Place::Grid { .. } => "vti",
            _ => "csv",
        };
        format!("probe_{}.{ending}", self.name.value)
    }

    /// The file that shows the same in three dimensions, unless the values' own does or no pictures are wanted.
    pub(crate) fn picture(&self, vtk: VtkMode) -> Option<String> {
        let wanted = vtk != VtkMode::None && !matches!(self.place, Place::Grid { .. });
        wanted.then(|| format!("probe_{}.vtu", self.name.value))
    }
}

/// Reads every `[[probe]]`; defects are reported to the document.
pub(super) fn read(top: &Section<'_>, base: &Path) -> Vec<Probe> {
    let mut probes: Vec<Probe> = Vec::new();
    for section in top.sections("probe") {
        let name = section.text("name");
        let place = read_place(top, &section, base);
        let (Some(name), Some(place)) = (name, place) else { continue };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !name.value.chars().all(plain) {
            let message = "the name of a probe becomes that of a file: letters, digits, _ and -";
            top.report(Defect::new(Sort::Value, name.span.clone(), message));
        }
        if let Some(first) = probes.iter().find(|probe| probe.name.value == name.value) {
            let message = format!("two probes are called \"{}\"", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message).label("again here");
            top.report(defect.first(first.name.span.clone()));
        }
        probes.push(Probe { name, place });
    }
    probes
}

fn read_place(top: &Section<'_>, section: &Section<'_>, base: &Path) -> Option<Place> {
    // All keys are read whatever the others say, so that each is checked.
    let file = section.text("file");
    let (from, to) = (section.vector("from"), section.vector("to"));
    let count = section.integer("count");
    let (low, high) = (section.vector("low"), section.vector("high"));
    let counts = section.numbers("counts", Some(3));
    let kinds = [["file"].as_slice(), &["from", "to", "count"], &["low", "high", "counts"]];
    let given = kinds.map(|keys| keys.iter().filter(|key| section.has(key)).count());
    let whole = (0..3).filter(|&k| given[k] == kinds[k].len()).count();
    if given.iter().filter(|given| **given > 0).count() != 1 || whole != 1 {
        let message = "a probe has either file, or from, to and count, or low, high and counts";
        let defect = Defect::new(Sort::Missing, section.span(), message).label("this probe");
        section.report(defect);
        return None;
    }
    if let Some(file) = file {
        return Some(Place::File(existing(top, base, "file of points", file)?.value));
    }
    if let (Some(from), Some(to), Some(count)) = (from, to, count) {
        let count = usize::try_from(count.value).ok()?;
        return Some(Place::Line { from: from.value, to: to.value, count });
    }
    let (low, high, counts) = (low?.value, high?.value, counts?);
    let whole = |count: &f64| *count >= 1.0 && count.fract() == 0.0;
    if !counts.value.iter().all(whole) || counts.value.iter().product::<f64>() > MOST_POINTS {
        let message = "counts are whole numbers of 1 or greater, of a product of at most 1e8";
        section.report(Defect::new(Sort::Value, counts.span, message));
        return None;
    }
    let counts: [usize; 3] = std::array::from_fn(|k| counts.value[k] as usize);
    if let Some(k) = (0..3).find(|&k| (counts[k] > 1) != (high[k] > low[k])) {
        let axis = ["x", "y", "z"][k];
        let message = if counts[k] > 1 {
            format!("{} points along {axis} need high above low", counts[k])
        } else {
            format!("one point along {axis} needs low and high to be the same")
        };
        section.report(Defect::new(Sort::Value, section.span(), message).label("this probe"));
        return None;
    }
    Some(Place::Grid { low, high, counts })
}
