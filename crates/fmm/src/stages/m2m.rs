//! M2M: children's multipole expansions to their parents' (docs/math.md, "Translations").

use crate::stages::parent_child::{ParentChildBatch, batches, octant};
use crate::tree::Tree;

/// The batches of M2M onto `level`, from children that `is_own` names.
pub(crate) fn parents(
    tree: &Tree,
    level: usize,
    is_own: impl Fn(usize) -> bool,
) -> Vec<ParentChildBatch> {
    let below = tree.levels[level + 1].start;
    batches(&tree.levels[level], |cells, octants| {
        for (slot, cell) in tree.cells[cells].iter().enumerate() {
            for child in cell.children().filter(|_| !cell.is_leaf()) {
                if !tree.cells[child].sources.is_empty() && is_own(child) {
                    octants[octant(&tree.cells[child])].push([(child - below) as u32, slot as u32]);
                }
            }
        }
    })
}
