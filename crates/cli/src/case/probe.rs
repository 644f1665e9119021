//! `[[probe]]`: where potential and field are wanted.

use std::path::{Path, PathBuf};

use farad::{Probe, ProbePoints};

use super::choices::VtkMode;
use super::definition::Case;
use super::diagnostics::{Defect, Located, Sort};
use super::document::Section;
use super::file_names;
use super::named_files::existing;
use super::places::Entry;
use crate::files;
use crate::terminal::exit::{Exit, Failure};

/// More points than this in a grid are refused as a mistake.
const MOST_POINTS: f64 = 1e8;

/// The file of a probe's values.
pub(crate) fn file(probe: &Probe) -> String {
    let ending = if is_grid(probe) { "vti" } else { "csv" };
    format!("probe_{}.{ending}", probe.name)
}

/// The VTK file of a probe whose values go to a table; `None` if no pictures are wanted.
pub(crate) fn picture(probe: &Probe, vtk: VtkMode) -> Option<String> {
    let wanted = vtk != VtkMode::None && !is_grid(probe);
    wanted.then(|| format!("probe_{}.vtu", probe.name))
}

/// The OpenDX file of a grid, of which programs that show molecules read those in space; `None`
/// for other probes, and without molecules.
pub(crate) fn map(probe: &Probe, case: &Case) -> Option<String> {
    let ProbePoints::Grid { counts, .. } = &probe.place else { return None };
    let wanted = case.has_atoms() && counts.iter().all(|count| *count > 1);
    wanted.then(|| format!("probe_{}.dx", probe.name))
}

fn is_grid(probe: &Probe) -> bool {
    matches!(probe.place, ProbePoints::Grid { .. })
}

/// Reads every `[[probe]]`; defects are reported to the document.
/// The points of files are read by [`points`].
pub(super) fn read(top: &Section<'_>, base: &Path) -> Vec<(Probe, Entry)> {
    let mut probes: Vec<(Probe, Entry)> = Vec::new();
    for section in top.sections("probe") {
        let name = section.text("name");
        let place = read_place(top, &section, base);
        let (Some(name), Some((place, file))) = (name, place) else { continue };
        let first = probes.iter().find(|(probe, _)| probe.name == name.value);
        file_names::check(top, ["probe", "probes"], &name, first.map(|(_, first)| &first.name));
        let entry = Entry { name: name.span, file, ..Entry::default() };
        probes.push((Probe { name: name.value, place }, entry));
    }
    probes
}

fn read_place(
    top: &Section<'_>,
    section: &Section<'_>,
    base: &Path,
) -> Option<(ProbePoints, Option<Located<PathBuf>>)> {
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
        let file = existing(top, base, "file of points", file)?;
        return Some((ProbePoints::Points(Vec::new()), Some(file)));
    }
    if let (Some(from), Some(to), Some(count)) = (from, to, count) {
        let count = usize::try_from(count.value).ok()?;
        return Some((ProbePoints::Line { from: from.value, to: to.value, count }, None));
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
    Some((ProbePoints::Grid { low, high, counts }, None))
}

/// Points of a text file: three numbers per line, with commas or blanks between; the first line may
/// be a heading.
pub(super) fn points(path: &Path) -> Result<Vec<[f64; 3]>, Failure> {
    let text = files::text(path)?;
    let mut points = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> =
            line.split([',', ';', ' ', '\t']).filter(|w| !w.is_empty()).collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        let numbers: Option<Vec<f64>> = words
            .iter()
            .map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
            .collect();
        match numbers.as_deref() {
            Some(&[x, y, z]) => points.push([x, y, z]),
            // A heading has no numbers at all.
            _ if index == 0 && words.iter().all(|word| word.parse::<f64>().is_err()) => {}
            _ => {
                // Not quoted: a case may name any file.
                let numbers =
                    words.iter().filter(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
                let message = format!(
                    "{}: line {}: expected three numbers x, y, z, found {} words, {} of them numbers",
                    path.display(),
                    index + 1,
                    words.len(),
                    numbers.count()
                );
                return Err(Failure::new(Exit::BadInput, message));
            }
        }
    }
    if points.is_empty() {
        let message = format!("{}: the file has no points", path.display());
        return Err(Failure::new(Exit::BadInput, message));
    }
    Ok(points)
}
