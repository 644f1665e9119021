//! The mesh that vertices, polygons and named groups make.

use super::error::Cause;
use super::reading::Reading;
use crate::geometry::weld;
use crate::io::gmsh::Encoding;
use crate::planar::polygon::split_quadrangle;
use crate::surface::{Mesh, PhysicalGroup};
use crate::vector::Vector;
use crate::wording::{counted, note_split};
use std::collections::HashMap;

/// Stands for a vertex that is not used.
const NONE: u32 = u32::MAX;

/// A surface under construction: vertices, then faces of them, each in the group that was opened
/// last.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    pub(crate) vertices: Vec<Vector>,
    /// Of the vertices up to the last that has one; zero at those that have none.
    normals: Vec<Vector>,
    triangles: Vec<[u32; 3]>,
    /// For each triangle 0 for no group, else its group's index + 1.
    membership: Vec<u32>,
    /// For each triangle the face that it is of.
    face_of: Vec<u32>,
    groups: Vec<String>,
    /// Where each group is in `groups`.
    group_at: HashMap<String, u32>,
    current: u32,
    /// Faces so far of three corners, of four, and of less than three (points and lines).
    faces: [usize; 3],
    /// Triangles left out since two of their corners became one vertex, and the relative distance
    /// at which they do.
    collapsed: (usize, f64),
}

impl Assembly {
    /// Opens the group called `name`, to which later faces belong.
    pub fn group(&mut self, name: &str) {
        let index = self.group_at.get(name).copied().unwrap_or_else(|| {
            let index = self.groups.len() as u32;
            self.groups.push(name.to_owned());
            self.group_at.insert(name.to_owned(), index);
            index
        });
        self.current = index + 1;
    }

    /// Adds a vertex; its index.
    ///
    /// # Errors
    /// [`Cause::TooMany`].
    pub fn vertex(&mut self, point: Vector) -> Result<u32, Cause> {
        // The greatest index stands for none.
        let index = u32::try_from(self.vertices.len()).ok().filter(|&index| index < NONE);
        self.vertices.push(point);
        index.ok_or(Cause::TooMany("vertices"))
    }

    /// Gives the vertex added last its normal.
    pub(crate) fn normal(&mut self, normal: Vector) {
        self.normals.resize(self.vertices.len(), [0.0; 3]);
        if let Some(last) = self.normals.last_mut() {
            *last = normal;
        }
    }

    /// Adds a face of three corners or of four, which is split along its shorter diagonal; fewer
    /// are counted and left out. `corners` are indices of vertices added before.
    ///
    /// # Errors
    /// [`Cause::Crossed`], [`Cause::Polygon`] and [`Cause::TooMany`].
    pub fn face(&mut self, corners: &[u32]) -> Result<(), Cause> {
        match *corners {
            [] | [_] | [_, _] => self.faces[2] += 1,
            [a, b, c] => {
                self.faces[0] += 1;
                self.push([a, b, c]);
            }
            [a, b, c, d] => {
                self.faces[1] += 1;
                let halves = split_quadrangle(&self.vertices, [a, b, c, d]);
                halves.ok_or(Cause::Crossed)?.into_iter().for_each(|half| self.push(half));
            }
            _ => return Err(Cause::Polygon(corners.len() as u64)),
        }
        if self.triangles.len() >= NONE as usize {
            return Err(Cause::TooMany("triangles"));
        }
        Ok(())
    }

    fn push(&mut self, corners: [u32; 3]) {
        self.triangles.push(corners);
        self.membership.push(self.current);
        self.face_of.push(self.faces.iter().sum::<usize>() as u32 - 1);
    }

    /// For each triangle that there is now the face that it is of, in the order in which faces were
    /// added.
    pub fn face_of(&self) -> &[u32] {
        &self.face_of
    }

    /// Makes vertices one that are the same to `relative` times the diagonal of the surface's
    /// bounding box; triangles with two corners at one vertex are left out.
    pub fn weld(&mut self, relative: f64) {
        let first = weld::first_at(&self.vertices, weld::tolerance(&self.vertices, relative));
        self.collapsed = (0, relative);
        let mut kept = 0;
        for triangle in 0..self.triangles.len() {
            let [a, b, c] = self.triangles[triangle].map(|v| first[v as usize]);
            if a == b || b == c || c == a {
                self.collapsed.0 += 1;
                continue;
            }
            self.triangles[kept] = [a, b, c];
            self.membership[kept] = self.membership[triangle];
            self.face_of[kept] = self.face_of[triangle];
            kept += 1;
        }
        self.triangles.truncate(kept);
        self.membership.truncate(kept);
        self.face_of.truncate(kept);
    }

    /// The mesh, without vertices that no triangle uses, and what was read of a file of this
    /// format.
    ///
    /// # Errors
    /// [`Cause::NoTriangles`].
    pub fn finish(self, format: &str, encoding: Encoding) -> Result<(Mesh, Reading), Cause> {
        let kinds = ["triangle", "quadrangle", "line or point"].into_iter().zip(self.faces);
        let [_, split, skipped] = self.faces;
        let (collapsed, within) = self.collapsed;
        let mut notes = Vec::new();
        if split > 0 {
            notes.push(note_split(split));
        }
        if skipped > 0 {
            notes.push(counted(
                skipped,
                "face of less than three corners is left out",
                "faces of less than three corners are left out",
            ));
        }
        if collapsed > 0 {
            let triangles = counted(collapsed, "triangle is", "triangles are");
            notes.push(format!(
                "{triangles} left out: two corners are one vertex within {within:e} of the size"
            ));
        }
        let mut reading = Reading {
            format: format!("{format}, {encoding}"),
            elements: kinds.filter(|(_, n)| *n > 0).map(|(kind, n)| (kind.to_owned(), n)).collect(),
            notes,
            normals: None,
        };
        let (mesh, normals) = self.into_mesh()?;
        reading.normals = normals;
        Ok((mesh, reading))
    }

    fn into_mesh(self) -> Result<(Mesh, Option<Vec<Vector>>), Cause> {
        if self.triangles.is_empty() {
            return Err(Cause::NoTriangles);
        }
        let normals = (!self.normals.is_empty()).then(|| {
            let mut is_used = vec![false; self.vertices.len()];
            let corners = self.triangles.as_flattened();
            corners.iter().for_each(|&vertex| is_used[vertex as usize] = true);
            let of = |vertex: usize| self.normals.get(vertex).copied().unwrap_or_default();
            (0..is_used.len()).filter(|&vertex| is_used[vertex]).map(of).collect()
        });
        let named =
            (1..).zip(self.groups).map(|(tag, name)| PhysicalGroup { tag, name: Some(name) });
        let groups: Vec<PhysicalGroup> = named.collect();
        let memberships =
            [vec![]].into_iter().chain((0..groups.len() as u32).map(|g| vec![g])).collect();
        let mut mesh = Mesh {
            vertices: self.vertices,
            triangles: self.triangles,
            groups,
            membership: self.membership,
            memberships,
            patches: None,
        };
        mesh.drop_unused();
        Ok((mesh, normals))
    }
}
