//! Pieces of a problem: what their solves take tells what its own will.

use mesh::locate::Locator;
use mesh::{Mesh, Patches};

use crate::analysis::sensitivity;
use crate::problem::fault::Error;
use crate::problem::planes::Symmetry;
use crate::problem::{Problem, edges, nearest};

/// Blocks of triangles that lie next to each other: some, for surfaces are not the same everywhere,
/// and few, since next to its rim a block has fewer neighbours than it had.
const BLOCKS: usize = 4;

/// Triangles of a surface that none of the blocks has met.
pub const LEAST: usize = 16;

/// Bits of a place along each axis.
const BITS: u32 = 20;

impl Problem {
    /// A part of the problem with about this number of the triangles that carry charge: complete in
    /// some places, and with some of every conductor. Bodies may be open in it, so that its results
    /// mean nothing; but a triangle costs about what it does in the whole. Results that need whole
    /// bodies are left out: films, and sensitivities to shifts of dielectrics. At most
    /// `excited` of the conductors are excited; further matrices need them all.
    ///
    /// # Errors
    /// As for [`Problem::new`], if layers or planes do not fit the remaining surfaces.
    pub fn piece(&self, triangles: usize, excited: usize) -> Result<Self, Error> {
        let chosen = self.blocks(triangles);
        let of_chosen = |t: &u32| *t as usize;
        let mesh = part(&self.mesh, &chosen);
        let mut description = self.description.clone();
        description.films.clear();
        let mut conductors = self.conductors.clone();
        conductors.of_triangle =
            chosen.iter().map(|t| self.conductors.of_triangle[of_chosen(t)]).collect();
        let is_conductor = |t: usize| conductors.of_triangle[t].is_some();
        let media = self.media.as_ref().map(|media| {
            let mut media = media.clone();
            media.permittivity = chosen.iter().map(|t| media.permittivity[of_chosen(t)]).collect();
            let sides = |t: &u32| media.sides.get(of_chosen(t)).copied();
            media.sides = chosen.iter().filter_map(sides).collect();
            media.regions.clear();
            media
        });
        let mut symmetry =
            Symmetry::find(&description, &mesh, |_| true, is_conductor).map_err(Error::Faults)?;
        let mut in_layers = None;
        if let (Some(stack), Some(place)) = (&description.stack, &self.in_layers) {
            let place = place.of_part(&chosen);
            let points = description.probes.iter().flat_map(|probe| probe.place.points());
            symmetry = place.images(stack, &mesh, symmetry, points).map_err(Error::Faults)?;
            in_layers = Some(place);
        }
        let nearest = match self.sources.is_empty() {
            true => Vec::new(),
            false => nearest::find(&mesh, &Locator::new(&mesh), |_| true, &self.sources),
        };
        let mut piece = Self {
            description,
            areas: chosen.iter().map(|t| self.areas[of_chosen(t)]).collect(),
            mesh,
            conductors,
            symmetry,
            media,
            in_layers,
            sources: self.sources.clone(),
            nearest,
            notes: Vec::new(),
            excited: self.excited.iter().take(excited).copied().collect(),
            reducers: match excited < self.excited.len() {
                true => Vec::new(),
                false => self.reducers.clone(),
            },
            given: None,
        };
        let wanted = std::mem::take(&mut piece.description.sensitivities);
        let found = wanted.into_iter().filter(|of| sensitivity::can_be_found(&piece, of)).collect();
        piece.description.sensitivities = found;
        Ok(piece)
    }

    /// How many triangles carry charge: the unknowns, but for modes.
    pub fn panels(&self) -> usize {
        edges::surfaces(self).iter().flatten().count()
    }

    /// Triangles of a piece, in their order.
    fn blocks(&self, triangles: usize) -> Vec<u32> {
        let surfaces = edges::surfaces(self);
        let mut order: Vec<u32> =
            (0..surfaces.len() as u32).filter(|&t| surfaces[t as usize].is_some()).collect();
        let triangles = triangles.clamp(1, order.len().max(1));
        let place = places(&self.mesh);
        order.sort_by_cached_key(|&t| place(t));
        let (n, each) = (order.len(), triangles.div_ceil(BLOCKS));
        let mut is_chosen = vec![false; surfaces.len()];
        for block in 0..BLOCKS {
            let middle = n * (2 * block + 1) / (2 * BLOCKS);
            let first = middle.saturating_sub(each / 2).min(n.saturating_sub(each));
            order[first..n.min(first + each)].iter().for_each(|&t| is_chosen[t as usize] = true);
        }
        let names = self.conductors.names.len();
        // Of many conductors less, or they were all there is.
        let least = (triangles / names.max(1)).clamp(1, LEAST);
        for conductor in 0..names as u32 {
            let own = |t: &&u32| self.conductors.of_triangle[**t as usize] == Some(conductor);
            if order.iter().filter(own).any(|&t| is_chosen[t as usize]) {
                continue;
            }
            let own: Vec<u32> = order.iter().filter(own).copied().collect();
            let count = (own.len() * triangles / n.max(1)).max(least).min(own.len());
            let first = (own.len() - count) / 2;
            own[first..first + count].iter().for_each(|&t| is_chosen[t as usize] = true);
        }
        (0..surfaces.len() as u32).filter(|&t| is_chosen[t as usize]).collect()
    }
}

/// Keys that are near to each other where triangles are: their places along a curve through cubes.
fn places(mesh: &Mesh) -> impl Fn(u32) -> u64 {
    let [low, high] = mesh::quality::bounding_box(mesh);
    let size = (0..3).map(|k| high[k] - low[k]).fold(f64::MIN_POSITIVE, f64::max);
    let most = f64::from((1 << BITS) - 1);
    move |t| {
        let corners = mesh.corners(t as usize);
        (0..3).fold(0, |key, k| {
            let middle = corners.iter().map(|x| (x[k] - low[k]) / 3.0).sum::<f64>();
            let cell = (middle / size * most).clamp(0.0, most) as u64;
            (0..BITS).fold(key, |key, bit| key | (cell >> bit & 1) << (3 * bit + k as u32))
        })
    }
}

/// Some triangles of a mesh, with their corners alone.
fn part(mesh: &Mesh, chosen: &[u32]) -> Mesh {
    let mut number = vec![u32::MAX; mesh.vertices.len()];
    let mut vertices = Vec::new();
    let mut renumbered = |v: u32| {
        let known = &mut number[v as usize];
        if *known == u32::MAX {
            *known = vertices.len() as u32;
            vertices.push(mesh.vertices[v as usize]);
        }
        *known
    };
    let triangles =
        chosen.iter().map(|&t| mesh.triangles[t as usize].map(&mut renumbered)).collect();
    let patches = mesh.patches.as_ref().map(|patches| Patches {
        order: patches.order,
        nodes: chosen.iter().flat_map(|&t| patches.of(t as usize).iter().copied()).collect(),
    });
    Mesh {
        vertices,
        triangles,
        groups: mesh.groups.clone(),
        membership: chosen
            .iter()
            .filter_map(|&t| mesh.membership.get(t as usize))
            .copied()
            .collect(),
        memberships: mesh.memberships.clone(),
        patches,
    }
}
