//! The local essential tree: which boxes of other ranks this one's targets interact with.
//!
//! The traversal of pairs of boxes (module `lists`) is run for own targets and sources that are not
//! wholly own. A source box of another rank that is to be split is asked of its rank, and what
//! waits for its children goes on in the next round. So nothing is known of more boxes than are
//! needed, and nothing is guessed.

use std::collections::HashMap;
use std::ops::Range;

use comm::{Communicator, Operation};

use super::code::{Code, place};
use super::top::{Ranks, Top};
use crate::tree::Tree;
use crate::tree::lists::{BoxKey, Rule, Verdict};

/// A source box, of whatever rank.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub code: Code,
    /// Sources of all ranks.
    pub sources: f64,
    /// Whether it is a leaf of the octree.
    pub leaf: bool,
    /// The ranks that hold its sources.
    pub ranks: Ranks,
    /// Children that hold sources, once they are known.
    pub children: Option<Range<usize>>,
    /// Whether any own target needs its children, its multipole expansion, or its sources.
    pub split: bool,
    pub multipole: bool,
    pub particles: bool,
    /// Own target boxes that wait for the children.
    waiting: Vec<u32>,
}

impl Node {
    fn key(&self) -> BoxKey {
        let (level, place) = place(self.code);
        // Whether there are any is all that is asked.
        BoxKey::new(place, level, self.sources.min(f64::from(u32::MAX)) as u32, self.leaf)
    }

    /// Whether one rank alone holds it.
    pub(super) fn is_of(&self, rank: usize) -> bool {
        self.ranks == Some([rank; 2])
    }
}

/// The boxes found, the root first, children together in Morton order.
pub(super) struct Scout<'a> {
    group: &'a dyn Communicator,
    tree: &'a Tree,
    keys: Vec<BoxKey>,
    rule: Rule,
    pub(super) nodes: Vec<Node>,
    index: HashMap<Code, usize>,
    /// Rounds of questions.
    pub(super) rounds: usize,
}

/// What a rank tells of a box: which of its octants hold sources, which of these are leaves, and
/// the sources of each.
type Answer = [u64; 5];

impl<'a> Scout<'a> {
    /// Of this rank's `tree`. Collective.
    pub(super) fn new(
        group: &'a dyn Communicator,
        top: &Top,
        tree: &'a Tree,
        rule: Rule,
    ) -> Result<Self, comm::Error> {
        let nodes: Vec<Node> = top
            .boxes
            .iter()
            .map(|of| Node {
                code: of.code,
                sources: of.sources,
                leaf: of.leaf,
                ranks: of.ranks,
                children: (!of.children.is_empty()).then(|| of.children.clone()),
                split: false,
                multipole: false,
                particles: false,
                waiting: Vec::new(),
            })
            .collect();
        let keys = tree.cells.iter().map(BoxKey::of).collect();
        let index = nodes.iter().enumerate().map(|(i, node)| (node.code, i)).collect();
        let mut scout = Self { group, tree, keys, rule, nodes, index, rounds: 0 };
        scout.run()?;
        Ok(scout)
    }

    fn run(&mut self) -> Result<(), comm::Error> {
        let mut stack = vec![(0, 0)];
        loop {
            let mut asked = vec![Vec::new(); self.group.size()];
            while let Some((target, source)) = stack.pop() {
                self.settle(target, source, &mut stack, &mut asked);
            }
            let mut any = [asked.iter().map(Vec::len).sum::<usize>() as f64];
            self.group.all_reduce(&mut any, Operation::Max)?;
            if any[0] == 0.0 {
                return Ok(());
            }
            self.rounds += 1;
            let questions = comm::exchange(self.group, &asked)?;
            let answers: Vec<Vec<Answer>> = questions
                .iter()
                .map(|codes| codes.iter().map(|&code| self.answer(code)).collect())
                .collect();
            let answers = comm::exchange(self.group, &answers)?;
            for (codes, answers) in asked.iter().zip(answers) {
                for (code, answer) in codes.iter().zip(answers) {
                    self.learn(self.index[code], answer, &mut stack);
                }
            }
        }
    }

    /// Settles a pair: own target box, source box.
    fn settle(&mut self, t: u32, s: usize, stack: &mut Vec<(u32, usize)>, asked: &mut [Vec<Code>]) {
        let target = &self.tree.cells[t as usize];
        let node = &mut self.nodes[s];
        if target.targets.is_empty() || node.sources == 0.0 || node.is_of(self.group.rank()) {
            return;
        }
        let key = &self.keys[t as usize];
        match self.rule.settle(&node.key(), key, target.targets.len()).0 {
            Verdict::Far => node.multipole = true,
            Verdict::Near => node.particles = true,
            Verdict::SplitTarget => {
                stack.extend(target.children().map(|child| (child as u32, s)));
            }
            Verdict::SplitSource => match (&node.children, node.ranks) {
                (Some(children), _) => {
                    node.split = true;
                    stack.extend(children.clone().map(|child| (t, child)));
                }
                (None, Some([rank, _])) => {
                    if !node.split {
                        node.split = true;
                        asked[rank].push(node.code);
                    }
                    node.waiting.push(t);
                }
                (None, None) => {}
            },
        }
    }

    /// What this rank tells of a box of its own.
    fn answer(&self, code: Code) -> Answer {
        let mut answer = [0; 5];
        let (level, place) = place(code);
        let Some(index) = self.tree.find(level, place) else { return answer };
        let cell = &self.tree.cells[index];
        for child in cell.children().filter(|_| !cell.is_leaf()) {
            let child = &self.tree.cells[child];
            let octant = (0..3).fold(0, |octant, i| octant | (child.place[i] & 1) << i);
            let sources = child.sources.len() as u64;
            if sources > 0 {
                answer[0] |= 1 << octant | u64::from(child.is_leaf()) << (8 + octant);
                answer[1 + octant as usize / 2] |= sources << (32 * (octant % 2));
            }
        }
        answer
    }

    /// Enters a rank's answer on box `parent`, and continues what waited for it.
    fn learn(&mut self, parent: usize, answer: Answer, stack: &mut Vec<(u32, usize)>) {
        let first = self.nodes.len();
        let (of_parent, ranks) = (self.nodes[parent].code, self.nodes[parent].ranks);
        for octant in (0..8).filter(|octant| answer[0] >> octant & 1 == 1) {
            let sources = answer[1 + octant / 2] >> (32 * (octant % 2)) & 0xffff_ffff;
            let code = of_parent << 3 | octant as u64;
            self.index.insert(code, self.nodes.len());
            self.nodes.push(Node {
                code,
                sources: sources as f64,
                leaf: answer[0] >> (8 + octant) & 1 == 1,
                ranks,
                children: None,
                split: false,
                multipole: false,
                particles: false,
                waiting: Vec::new(),
            });
        }
        let children = first..self.nodes.len();
        for target in std::mem::take(&mut self.nodes[parent].waiting) {
            stack.extend(children.clone().map(|child| (target, child)));
        }
        self.nodes[parent].children = Some(children);
    }
}
