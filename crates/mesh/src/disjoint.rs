//! Disjoint sets of numbers.

/// Sets of the numbers below a count, joined step by step; each is named after its least number.
#[derive(Clone, Debug, Default)]
pub struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    /// Sets of one number each.
    pub fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).collect() }
    }

    /// Adds a set of one number, the next; returns it.
    pub fn push(&mut self) -> u32 {
        let number = self.parent.len() as u32;
        self.parent.push(number);
        number
    }

    /// The least number of the set that a number is in. Halves the path to it.
    pub fn root(&mut self, mut number: u32) -> u32 {
        while self.parent[number as usize] != number {
            let above = self.parent[number as usize];
            self.parent[number as usize] = self.parent[above as usize];
            number = self.parent[number as usize];
        }
        number
    }

    /// Makes one set of those that two numbers are in; returns its root.
    pub fn join(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
        a.min(b)
    }
}
