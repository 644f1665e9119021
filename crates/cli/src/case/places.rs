//! Places in the case file of the parts of its description, in the description's order.

use std::ops::Range;
use std::path::PathBuf;

use farad::{Description, Listed};

use super::diagnostics::Located;

/// The places of everything that messages point at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The mesh's name.
    pub(super) mesh: Range<usize>,
    pub(super) ignore: Vec<Range<usize>>,
    /// The key that gives the first medium its ions.
    pub(super) salt: Range<usize>,
    pub(super) conductors: Vec<Entry>,
    pub(super) dielectrics: Vec<Entry>,
    pub(super) surfaces: Vec<Entry>,
    pub(super) planes: Vec<Range<usize>>,
    /// The layers.
    pub(super) stack: Range<usize>,
    pub(super) charges: Vec<Range<usize>>,
    pub(super) probes: Vec<Entry>,
    pub(super) diffusion: Range<usize>,
    pub(super) reductions: Vec<Listing>,
    pub(super) sensitivities: Vec<Range<usize>>,
    pub(super) films: Vec<Range<usize>>,
    /// Nets in the case file; on the command line they have no place.
    pub(super) nets: Vec<Range<usize>>,
}

/// One `[[reduce]]` table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(super) name: Range<usize>,
    pub(super) groups: Vec<PlacesOfGroup>,
    pub(super) grounded: Vec<Range<usize>>,
    pub(super) floating: Vec<Range<usize>>,
    pub(super) between: Vec<Range<usize>>,
}

/// A group of a `[[reduce]]` table.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlacesOfGroup {
    pub(super) name: Range<usize>,
    pub(super) members: Vec<Range<usize>>,
}

impl Listing {
    /// The place of one of its names.
    pub(super) fn of(&self, listed: Listed) -> &Range<usize> {
        let found = match listed {
            Listed::Group(group) => self.groups.get(group).map(|group| &group.name),
            Listed::Member(group, k) => {
                self.groups.get(group).and_then(|group| group.members.get(k))
            }
            Listed::Grounded(k) => self.grounded.get(k),
            Listed::Floating(k) => self.floating.get(k),
            Listed::Between(k) => self.between.get(k),
        };
        found.unwrap_or(&self.name)
    }
}

/// One table of an array of tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// Its name, or the whole.
    pub(super) name: Range<usize>,
    pub(super) groups: Vec<Range<usize>>,
    /// The file of its atoms or points.
    pub(super) file: Option<Located<PathBuf>>,
    /// The line of that file that each atom is from.
    pub(super) lines: Vec<usize>,
    /// Whether the program makes it: the surface of these atoms, a probe.
    pub(super) is_made: bool,
}

impl Places {
    /// Places of [`Description::interfaces`].
    pub(super) fn interfaces(&self) -> impl Iterator<Item = &Range<usize>> {
        self.dielectrics.iter().chain(&self.surfaces).flat_map(|entry| &entry.groups)
    }

    /// The first place that names a group.
    pub(super) fn group(&self, description: &Description, wanted: &str) -> Option<&Range<usize>> {
        let conductors = description.conductors.iter().flat_map(|conductor| &conductor.groups);
        let names = conductors.chain(&description.ignore).chain(description.interfaces());
        let places = self.conductors.iter().flat_map(|entry| &entry.groups);
        let mut all = names.zip(places.chain(&self.ignore).chain(self.interfaces()));
        all.find(|(name, _)| *name == wanted).map(|(_, place)| place)
    }

    /// The first conductor of a name.
    pub(super) fn conductor(&self, description: &Description, name: &str) -> Option<&Range<usize>> {
        let index = description.conductors.iter().position(|conductor| conductor.name == name)?;
        Some(&self.conductors[index].name)
    }
}

/// Values and places of a list.
pub(super) fn split<T>(located: Vec<Located<T>>) -> (Vec<T>, Vec<Range<usize>>) {
    located.into_iter().map(|Located { value, span }| (value, span)).unzip()
}
