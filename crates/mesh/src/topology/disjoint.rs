//! Disjoint sets of numbers.

use std::sync::atomic::{AtomicU32, Ordering};

use parallel::prelude::*;

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

/// For threads that join concurrently, after Anderson and Woll, "Wait-free parallel
/// algorithms for the union-find problem" (1991). Whatever their order, the sets are those that all
/// pairs joined make.
#[derive(Debug)]
pub struct SharedSets {
    /// Never more than the number itself, so that no path is a loop. Nothing else is published by
    /// these values: relaxed order will do.
    parent: Vec<AtomicU32>,
}

impl SharedSets {
    /// Sets of one number each.
    pub fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).into_par_iter().map(AtomicU32::new).collect() }
    }

    fn above(&self, number: u32) -> u32 {
        self.parent[number as usize].load(Ordering::Relaxed)
    }

    /// The least number of the set that a number is in, once nobody joins any more. Halves the path
    /// to it.
    pub fn root(&self, mut number: u32) -> u32 {
        loop {
            let above = self.above(number);
            if above == number {
                return number;
            }
            let next = self.above(above);
            if next != above {
                // If another thread was here before, it did the same or better.
                let _ = self.parent[number as usize].compare_exchange_weak(
                    above,
                    next,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
            }
            number = next;
        }
    }

    /// Makes one set of those that two numbers are in.
    pub fn join(&self, a: u32, b: u32) {
        let (mut a, mut b) = (a, b);
        loop {
            (a, b) = (self.root(a), self.root(b));
            if a == b {
                return;
            }
            let (least, other) = (a.min(b), a.max(b));
            let place = &self.parent[other as usize];
            let joined = place.compare_exchange(other, least, Ordering::Relaxed, Ordering::Relaxed);
            if joined.is_ok() {
                return;
            }
        }
    }

    /// A label for each of `numbers`, the same for those of one set, in the order in which sets are
    /// met, and how many sets these are.
    pub fn labels(&self, numbers: impl Parallel<Item = u32>) -> (Vec<u32>, usize) {
        let mut labels: Vec<u32> = numbers.map(|number| self.root(number)).collect();
        let mut label_of = vec![u32::MAX; self.parent.len()];
        let mut count = 0;
        for run in labels.chunk_by(|a, b| a == b) {
            let label = &mut label_of[run[0] as usize];
            if *label == u32::MAX {
                *label = count;
                count += 1;
            }
        }
        labels.par_iter_mut().for_each(|root| *root = label_of[*root as usize]);
        (labels, count as usize)
    }
}
