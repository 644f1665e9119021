//! `[[reduce]]`: what else is made of the capacitance matrix.

use std::ops::Range;

use farad::{Reduction, ReductionFault};

use crate::case::diagnostics::meant;
use crate::case::places::{Listing, PlacesOfGroup};

use super::file_names;
use super::prelude::*;

/// Names that are those of other files.
const TAKEN: [&str; 2] = ["maxwell", "mutual"];

/// The end of the names of tables of error bars.
const BARS: &str = "_error";

/// Names that become those of files, but none of the above.
const NAME: Spec =
    Spec::pattern("^(?!(maxwell|mutual)$)(?!.*_error$)[A-Za-z0-9_-]+$", FILE_LETTERS);

const PAIR: Spec = Spec::new(ValueKind::Names { least: 2, most: 2 }).said("two names");

table! {
    /// `[[reduce]]`.
    ReduceTable = "reduce" repeated;
    @rules [Rule::AnyOf(&["group", "grounded", "floating", "between"])];
    name: String = NAME, REQUIRED, "name in the results: `capacitance_NAME.csv`";
    group: Vec<Group> = Spec::new(ValueKind::Groups), or("none"),
        "`{ vdd = [\"a\", \"b\"] }`: conductors held at one potential become one net; other keys know it by its name alone";
    grounded: Names = NAMES, or("[]"),
        "nets at 0 V; the potential is 0 at infinity, and on ground planes";
    floating: Names = NAMES, or("[]"), "nets that float without charge, such as fill";
    between: Names = PAIR, or("none"),
        "the capacitance between these two nets, with all others floating, but for those that are grounded";
}

/// Reads every `[[reduce]]`; defects are reported to the document. Whether there are conductors of
/// its names is for the mesh to say.
pub(in crate::case) fn read(top: &Section<'_>) -> Vec<(Reduction, Listing)> {
    let mut reductions: Vec<(Reduction, Listing)> = Vec::new();
    for table in top.tables::<ReduceTable>() {
        table.check(top);
        let Some(name) = table.name.located() else { continue };
        check_name(top, &name, &reductions);
        let (mut groups, mut places) = (Vec::new(), Vec::new());
        for Group { name, members } in table.group.or(Vec::new()) {
            groups.push((name.value, members.items));
            places.push(PlacesOfGroup { name: name.span, members: members.places });
        }
        let grounded = table.grounded.or(Names::default());
        let floating = table.floating.or(Names::default());
        let between = table.between.or(Names::default());
        let listing = Listing {
            name: name.span,
            groups: places,
            grounded: grounded.places,
            floating: floating.places,
            between: between.places,
        };
        let reduction = Reduction::default()
            .name(name.value)
            .groups(groups)
            .grounded(grounded.items)
            .floating(floating.items)
            .between(between.items.try_into().ok());
        reductions.push((reduction, listing));
    }
    reductions
}

impl ReduceTable {
    fn check(&self, top: &Section<'_>) {
        if let Some(between) = self.between.value.as_ref().filter(|names| names.items.len() != 2) {
            let span = between.places.first().cloned().unwrap_or_else(|| self.place());
            let message = format!("between has two nets, not {}", between.items.len());
            let defect = Defect::new(Sort::Value, span, message);
            top.report(defect.help("write between = [\"a\", \"b\"]"));
        }
        let is_empty =
            |names: &Field<Names>| names.value.as_ref().is_none_or(|names| names.items.is_empty());
        let has_groups = self.group.value.as_ref().is_some_and(|groups| !groups.is_empty());
        let has_lists = !is_empty(&self.grounded) || !is_empty(&self.floating);
        if !has_groups && !has_lists && self.between.value.is_none() {
            let message =
                "nothing is reduced: there is neither floating, grounded, group nor between";
            top.report(Defect::new(Sort::Missing, self.place(), message));
        }
    }

    /// The table of a reduction.
    pub(in crate::case) fn of(reduction: &Reduction) -> Self {
        let groups = reduction.groups.iter().map(|(name, members)| Group {
            name: Located { value: name.clone(), span: 0..0 },
            members: Names::of(members),
        });
        let listed = |names: &Vec<String>| (!names.is_empty()).then(|| Names::of(names));
        Self {
            name: (&reduction.name).into(),
            group: Some(groups.collect::<Vec<_>>()).filter(|groups| !groups.is_empty()).into(),
            grounded: listed(&reduction.grounded).into(),
            floating: listed(&reduction.floating).into(),
            between: reduction.between.as_ref().map(|nets| Names::of(nets)).into(),
            ..Self::default()
        }
    }
}

/// Checks a name, which becomes that of a file.
fn check_name(top: &Section<'_>, name: &Located<String>, before: &[(Reduction, Listing)]) {
    let first = before.iter().find(|(known, _)| known.name == name.value);
    file_names::check(top, ["reduction", "reductions"], name, first.map(|(_, first)| &first.name));
    if TAKEN.contains(&name.value.as_str()) || name.value.ends_with(BARS) {
        let message = format!("capacitance_{}.csv is the name of another result", name.value);
        let defect = Defect::new(Sort::Value, name.span.clone(), message);
        top.report(defect.help("choose another name"));
    }
}

/// The defect of a reduction for the conductors of the mesh.
pub(in crate::case) fn defect(
    listing: &Listing,
    problem: &ReductionFault,
    message: String,
    is_shown: bool,
) -> Defect {
    let at = |span: &Range<usize>| Defect::new(Sort::Value, span.clone(), message);
    match problem {
        ReductionFault::Unknown { at: listed, name, available } => {
            let defect = at(listing.of(*listed)).label("not there");
            if is_shown { defect.help(meant(name, available)) } else { defect }
        }
        ReductionFault::Twice { at: [first, second], .. } => {
            at(listing.of(*second)).label("again here").first(listing.of(*first).clone()).help(
                "each net is in one list once; a name without * takes precedence over patterns with it",
            )
        }
        ReductionFault::Taken { at: listed, .. } => {
            at(listing.of(*listed)).help("call the group something else, or list the net in it")
        }
        ReductionFault::FloatAnyway => at(listing.floating.first().unwrap_or(&listing.name))
            .help("leave out floating, or between"),
        ReductionFault::Nothing => {
            at(&listing.name).help("a matrix needs a net that is neither grounded nor floats")
        }
    }
}
