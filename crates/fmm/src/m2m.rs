//! M2M: children's multipole expansions to their parents' (docs/math.md, "Translations").

use crate::families::{Family, families, octant};
use crate::tree::Tree;

/// The families of M2M onto `level`.
pub(crate) fn parents(tree: &Tree, level: usize) -> Vec<Family> {
    let below = tree.levels[level + 1].start;
    families(&tree.levels[level], |cells, octants| {
        for (slot, cell) in tree.cells[cells].iter().enumerate() {
            for child in cell.children().filter(|_| !cell.is_leaf()) {
                if !tree.cells[child].sources.is_empty() {
                    octants[octant(&tree.cells[child])].push([(child - below) as u32, slot as u32]);
                }
            }
        }
    })
}
