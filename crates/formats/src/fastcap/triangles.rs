//! Triangles with what they are and the panels that they are of.

use mesh::Mesh;
use mesh::quality::relative_height;
use mesh::vector::{norm, sub};

use super::origin::{Origin, place_of};
use crate::roles::{Role, Roles};

/// A surface in the making. Triangles are given by their indices in the mesh.
pub(super) struct Triangles {
    pub mesh: Mesh,
    pub roles: Roles,
    /// The index of each triangle's role.
    pub role_of: Vec<u32>,
    /// Where the panel of each triangle stands.
    pub panel_of: Vec<Origin>,
    /// The names of the panels' files.
    pub files: Vec<String>,
}

impl Triangles {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.mesh.triangles.len()
    }

    /// What a triangle is.
    pub(super) fn role(&self, t: usize) -> Role {
        self.roles.all[self.role_of[t] as usize]
    }

    /// Makes a triangle something else.
    pub(super) fn set_role(&mut self, t: usize, role: Role) {
        self.role_of[t] = self.roles.index(role) as u32;
    }

    /// The height of a triangle over its longest side.
    pub(super) fn height(&self, t: usize) -> f64 {
        let [a, b, c] = self.mesh.corners(t);
        let longest = norm(sub(b, a)).max(norm(sub(c, b))).max(norm(sub(a, c)));
        relative_height([a, b, c]) * longest
    }

    /// Where the panel of a triangle stands, in words.
    pub(super) fn place(&self, t: usize) -> String {
        place_of(&self.files, self.panel_of[t])
    }

    /// The line of the list that a triangle is from, or of the file of panels without one.
    pub(super) fn line(&self, t: usize) -> usize {
        let Origin { line, listed, .. } = self.panel_of[t];
        if listed > 0 { listed as usize } else { line as usize }
    }

    /// Keeps some of the triangles.
    pub(super) fn keep(&mut self, is_kept: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.count()).filter(|&t| is_kept(t)).collect();
        self.mesh.triangles = kept.iter().map(|&t| self.mesh.triangles[t]).collect();
        self.mesh.membership = kept.iter().map(|&t| self.mesh.membership[t]).collect();
        self.role_of = kept.iter().map(|&t| self.role_of[t]).collect();
        self.panel_of = kept.iter().map(|&t| self.panel_of[t]).collect();
    }

    /// Leaves out vertices that no triangle has; the others are numbered as triangles name them.
    pub(super) fn drop_unused(&mut self) {
        let mut number = vec![u32::MAX; self.mesh.vertices.len()];
        let mut vertices = Vec::new();
        for v in self.mesh.triangles.iter_mut().flatten() {
            let number = &mut number[*v as usize];
            if *number == u32::MAX {
                *number = vertices.len() as u32;
                vertices.push(self.mesh.vertices[*v as usize]);
            }
            *v = *number;
        }
        self.mesh.vertices = vertices;
    }
}
