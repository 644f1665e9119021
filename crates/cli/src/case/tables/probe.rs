//! `[[probe]]`: where potential and field are wanted.

use std::path::{Path, PathBuf};

use farad::{Probe, ProbePoints};
use toml::Spanned;
use toml::de::DeValue;

use crate::case::choices::VtkMode;
use crate::case::definition::Case;
use crate::case::values::{Reader, Value};
use crate::files;
use crate::paths::relative;
use crate::terminal::exit::{Exit, Failure};

use super::file_names;
use super::named_files::existing;
use super::prelude::*;

/// Each kind of probes by its keys.
const KINDS: [&[&str]; 3] = [&["file"], &["from", "to", "count"], &["low", "high", "counts"]];

/// Points along each axis, as a file has them; the resolved case has whole numbers.
#[derive(Clone, Debug)]
pub(in crate::case) struct Counts(Vec<f64>);

impl Value for Counts {
    fn read(reader: Reader<'_>, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        Vec::read(reader, value).map(Self)
    }

    fn toml(&self) -> String {
        let counts: Vec<usize> = self.0.iter().map(|count| *count as usize).collect();
        format!("{counts:?}")
    }
}

table! {
    /// `[[probe]]`.
    ProbeTable = "probe" repeated;
    @rules [Rule::OneSet(&KINDS)];
    name: String = FILE_NAME, REQUIRED, "name in the results";
    file: String = PATH, or("-"),
        "points: three numbers x, y, z per line, separated by commas or blanks; the path is relative to the case file; a first \
         line of words is a heading";
    from: [f64; 3] = VECTOR, or("-"), "first point of a line, in the mesh's unit";
    to: [f64; 3] = VECTOR, or("-"), "its last point";
    count: usize = Spec::integer(2, 100_000_000), or("-"), "points along it, including both ends";
    low: [f64; 3] = VECTOR, or("-"), "corner of a box along the axes, in the mesh's unit";
    high: [f64; 3] = VECTOR, or("-"),
        "the opposite corner; if both have a coordinate in common, the box is a plane";
    counts: Counts = Spec::new(ValueKind::Counts), or("-"),
        "points along each axis, including both ends; 1 where `low` and `high` are the same";
}

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
pub(in crate::case) fn read(top: &Section<'_>, base: &Path) -> Vec<(Probe, Entry)> {
    let mut probes: Vec<(Probe, Entry)> = Vec::new();
    for section in top.sections(ProbeTable::INFO) {
        let table = ProbeTable::read(&section);
        let place = table.place_of_probe(&section, base);
        let (Some(name), Some(Placed { place, file })) = (table.name.located(), place) else {
            continue;
        };
        let first = probes.iter().find(|(probe, _)| probe.name == name.value);
        file_names::check(top, ["probe", "probes"], &name, first.map(|(_, first)| &first.name));
        let entry = Entry { name: name.span, file, ..Entry::default() };
        probes.push((Probe::new(name.value, place), entry));
    }
    probes
}

/// Where a probe is, and the file of its points.
struct Placed {
    place: ProbePoints,
    file: Option<Located<PathBuf>>,
}

impl ProbeTable {
    fn place_of_probe(&self, section: &Section<'_>, base: &Path) -> Option<Placed> {
        let given = KINDS.map(|keys| keys.iter().filter(|key| section.has(key)).count());
        let whole = (0..3).filter(|&k| given[k] == KINDS[k].len()).count();
        if given.iter().filter(|given| **given > 0).count() != 1 || whole != 1 {
            let message = "a probe has either file, or from, to and count, or low, high and counts";
            let defect = Defect::new(Sort::Missing, section.span(), message).label("this probe");
            section.report(defect);
            return None;
        }
        if let Some(file) = self.file.clone().located() {
            let file = existing(section, base, "file of points", file)?;
            return Some(Placed { place: ProbePoints::Points(Vec::new()), file: Some(file) });
        }
        let line = (self.from.value, self.to.value, self.count.value);
        let place = match line {
            (Some(from), Some(to), Some(count)) => ProbePoints::Line { from, to, count },
            _ => self.grid(section)?,
        };
        Some(Placed { place, file: None })
    }

    fn grid(&self, section: &Section<'_>) -> Option<ProbePoints> {
        let (low, high) = (self.low.value?, self.high.value?);
        let Located { value: Counts(counts), span } = self.counts.clone().located()?;
        let whole = |count: &f64| *count >= 1.0 && count.fract() == 0.0;
        if !counts.iter().all(whole) || counts.iter().product::<f64>() > MOST_POINTS {
            let message = "counts are whole numbers of 1 or greater, of a product of at most 1e8";
            section.report(Defect::new(Sort::Value, span, message));
            return None;
        }
        let counts: [usize; 3] = std::array::from_fn(|k| counts[k] as usize);
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
        Some(ProbePoints::Grid { low, high, counts })
    }

    /// The table of a probe whose points, if it names a file of them, are in that of `entry`; for a
    /// case that lies in `folder`.
    pub(in crate::case) fn of(probe: &Probe, entry: &Entry, folder: &Path) -> Self {
        let mut table = Self { name: (&probe.name).into(), ..Self::default() };
        match &probe.place {
            ProbePoints::Points(_) => {
                table.file = entry.file.as_ref().map(|file| relative(folder, &file.value)).into();
            }
            ProbePoints::Line { from, to, count } => {
                table.from = (*from).into();
                table.to = (*to).into();
                table.count = (*count).into();
            }
            ProbePoints::Grid { low, high, counts } => {
                table.low = (*low).into();
                table.high = (*high).into();
                table.counts = Counts(counts.map(|count| count as f64).to_vec()).into();
            }
        }
        table
    }
}

/// Points of a text file: three numbers per line, with commas or blanks between; the first line may
/// be a heading.
pub(in crate::case) fn points(path: &Path) -> Result<Vec<[f64; 3]>, Failure> {
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
