//! The mesh that vertices, polygons and named groups make.

use super::error::Problem;
use crate::polygon::split_quadrangle;
use crate::surface::{Mesh, PhysicalGroup};
use crate::vector::Vector;
use crate::weld;
use std::collections::HashMap;

/// Stands for a vertex that is not used.
const NONE: u32 = u32::MAX;

/// A surface under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembly {
    pub(crate) vertices: Vec<Vector>,
    triangles: Vec<[u32; 3]>,
    /// For each triangle 0 for no group, else its group's index + 1.
    membership: Vec<u32>,
    groups: Vec<String>,
    /// Where each group is in `groups`.
    group_at: HashMap<String, u32>,
    current: u32,
    pub(crate) split: usize,
    /// Faces of less than three corners: points and lines.
    pub(crate) skipped: usize,
}

/// What came of making one surface of triangles that share no vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Welded {
    /// Triangles left out since two of their corners became one.
    pub(crate) collapsed: usize,
}

impl Assembly {
    /// Later faces are in the group called `name`.
    pub(crate) fn group(&mut self, name: &str) {
        let index = self.group_at.get(name).copied().unwrap_or_else(|| {
            let index = self.groups.len() as u32;
            self.groups.push(name.to_owned());
            self.group_at.insert(name.to_owned(), index);
            index
        });
        self.current = index + 1;
    }

    /// Adds a vertex.
    pub(crate) fn vertex(&mut self, point: Vector) -> Result<u32, Problem> {
        // The greatest index stands for none.
        let index = u32::try_from(self.vertices.len()).ok().filter(|&index| index < NONE);
        self.vertices.push(point);
        index.ok_or(Problem::TooMany("vertices"))
    }

    /// Adds a face of three corners or of four; fewer are counted and left out.
    pub(crate) fn face(&mut self, corners: &[u32]) -> Result<(), Problem> {
        match *corners {
            [] | [_] | [_, _] => self.skipped += 1,
            [a, b, c] => self.push([a, b, c]),
            [a, b, c, d] => {
                self.split += 1;
                let halves = split_quadrangle(&self.vertices, [a, b, c, d]);
                halves.ok_or(Problem::Crossed)?.into_iter().for_each(|half| self.push(half));
            }
            _ => return Err(Problem::Polygon(corners.len() as u64)),
        }
        if self.triangles.len() >= NONE as usize {
            return Err(Problem::TooMany("triangles"));
        }
        Ok(())
    }

    fn push(&mut self, corners: [u32; 3]) {
        self.triangles.push(corners);
        self.membership.push(self.current);
    }

    /// Makes vertices one that are the same to `relative` times the size of the surface.
    pub(crate) fn weld(&mut self, relative: f64) -> Welded {
        let first = weld::first_at(&self.vertices, weld::tolerance(&self.vertices, relative));
        let mut welded = Welded::default();
        let mut kept = 0;
        for triangle in 0..self.triangles.len() {
            let [a, b, c] = self.triangles[triangle].map(|v| first[v as usize]);
            if a == b || b == c || c == a {
                welded.collapsed += 1;
                continue;
            }
            self.triangles[kept] = [a, b, c];
            self.membership[kept] = self.membership[triangle];
            kept += 1;
        }
        self.triangles.truncate(kept);
        self.membership.truncate(kept);
        welded
    }

    /// The mesh; vertices that no triangle uses are dropped.
    pub(crate) fn into_mesh(self) -> Result<Mesh, Problem> {
        if self.triangles.is_empty() {
            return Err(Problem::NoTriangles);
        }
        let mut renumbered = vec![NONE; self.vertices.len()];
        for vertex in self.triangles.iter().flatten() {
            renumbered[*vertex as usize] = 0;
        }
        let mut vertices = Vec::with_capacity(self.vertices.len());
        for (vertex, number) in self.vertices.iter().zip(&mut renumbered) {
            if *number != NONE {
                *number = vertices.len() as u32;
                vertices.push(*vertex);
            }
        }
        let mut triangles = self.triangles;
        for vertex in triangles.iter_mut().flatten() {
            *vertex = renumbered[*vertex as usize];
        }
        let named =
            (1..).zip(self.groups).map(|(tag, name)| PhysicalGroup { tag, name: Some(name) });
        let groups: Vec<PhysicalGroup> = named.collect();
        let memberships =
            [vec![]].into_iter().chain((0..groups.len() as u32).map(|g| vec![g])).collect();
        Ok(Mesh { vertices, triangles, groups, membership: self.membership, memberships })
    }
}
