//! L2L: parents' local expansions to their children's (docs/math.md, "Translations").

use crate::stages::parent_child::{ParentChildBatch, batches, octant};
use crate::tree::Tree;

/// The batches of L2L onto `level`.
pub(crate) fn children(tree: &Tree, level: usize) -> Vec<ParentChildBatch> {
    let above = tree.levels[level - 1].start as u32;
    batches(&tree.levels[level], |cells, octants| {
        for (slot, cell) in tree.cells[cells].iter().enumerate() {
            if !cell.targets.is_empty() {
                octants[octant(cell)].push([cell.parent - above, slot as u32]);
            }
        }
    })
}
