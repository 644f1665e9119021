//! `[[reduce]]`: what else is made of the capacitance matrix.

use farad::{Reduction, ReductionFault};

use super::diagnostics::{Defect, Located, Sort, meant};
use super::document::Section;
use super::file_names;
use super::places::{self, Listing};

/// Names that are those of other files.
const TAKEN: [&str; 2] = ["maxwell", "mutual"];

/// The end of the names of tables of error bars.
const BARS: &str = "_error";

/// Reads every `[[reduce]]`; defects are reported to the document. Whether there are conductors of
/// its names is for the mesh to say.
pub(super) fn read(top: &Section<'_>) -> Vec<(Reduction, Listing)> {
    let mut reductions: Vec<(Reduction, Listing)> = Vec::new();
    for section in top.sections("reduce") {
        let name = section.text("name");
        let groups = section.groups("group").unwrap_or_default();
        let grounded = section.names("grounded").unwrap_or_default();
        let floating = section.names("floating").unwrap_or_default();
        let between = section.names("between");
        if let Some(between) = between.as_ref().filter(|between| between.len() != 2) {
            let span = between.first().map_or(section.span(), |first| first.span.clone());
            let message = format!("between has two nets, not {}", between.len());
            let defect = Defect::new(Sort::Value, span, message);
            section.report(defect.help("write between = [\"a\", \"b\"]"));
        }
        let is_empty = groups.is_empty() && grounded.is_empty() && floating.is_empty();
        if is_empty && between.is_none() {
            let message =
                "nothing is reduced: there is neither floating, grounded, group nor between";
            section.report(Defect::new(Sort::Missing, section.span(), message));
        }
        let Some(name) = name else { continue };
        check_name(top, &name, &reductions);
        let (groups, of_groups) = groups
            .into_iter()
            .map(|(name, members)| {
                let (members, of_members) = places::split(members);
                ((name.value, members), (name.span, of_members))
            })
            .unzip();
        let (grounded, of_grounded) = places::split(grounded);
        let (floating, of_floating) = places::split(floating);
        let (between, of_between) = places::split(between.unwrap_or_default());
        let listing = Listing {
            name: name.span,
            groups: of_groups,
            grounded: of_grounded,
            floating: of_floating,
            between: of_between,
        };
        let between = between.try_into().ok();
        let reduction = Reduction { name: name.value, groups, grounded, floating, between };
        reductions.push((reduction, listing));
    }
    reductions
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
pub(super) fn defect(
    listing: &Listing,
    problem: &ReductionFault,
    message: String,
    is_shown: bool,
) -> Defect {
    let at = |span: &std::ops::Range<usize>| Defect::new(Sort::Value, span.clone(), message);
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
