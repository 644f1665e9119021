//! Pieces of a problem: what their solves take tells what its own will.

use mesh::locate::Locator;
use mesh::{Mesh, Patches};

use crate::edges;
use crate::fault::Error;
use crate::near_surface;
use crate::planes::Symmetry;
use crate::problem::Problem;
use crate::sensitivity;

/// Blocks of triangles that lie next to each other: some, for surfaces are not the same everywhere,
/// and few, since next to its rim a block has fewer neighbours than it had.
const BLOCKS: usize = 4;

/// Triangles of a surface that none of the blocks has met.
const LEAST: usize = 16;

/// Bits of a place along each axis.
const BITS: u32 = 20;

impl Problem {
    /// The same problem with about so many of the triangles that carry charge, and no other ones:
    /// in some places all that is there, and some of every conductor. Bodies may be open in it, so
    /// that its answers mean nothing; but a triangle costs about what it does in the whole. What
    /// needs whole bodies is left out: films, and sensitivities to shifts of dielectrics. At most
    /// `excited` of the conductors are excited; further matrices need them all.
    ///
    /// # Errors
    /// Those of [`Problem::new`], where layers or planes do not take what is left of the surfaces.
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
            false => near_surface::find(&mesh, &Locator::new(&mesh), |_| true, &self.sources),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Conductor, Description, Dielectric, Options, Parameter, Quiet, Sensitivity, testing,
    };
    use mesh::generate::{Resolution, Sphere, SphereBase};

    fn shells() -> Problem {
        let conductors = vec![Conductor::new("inner")];
        let dielectrics = vec![Dielectric::new("outer", 4.0)];
        let description = Description { conductors, dielectrics, ..Description::default() };
        Problem::new(description, testing::shells()).unwrap()
    }

    #[test]
    fn a_piece_has_its_share_of_triangles_as_they_were() {
        let whole = shells();
        assert_eq!(whole.panels(), 144);
        for triangles in [24, 72, 144, 1000] {
            let piece = whole.piece(triangles, usize::MAX).unwrap();
            let expected = triangles.min(144);
            assert!(piece.panels().abs_diff(expected) <= LEAST, "{triangles} {}", piece.panels());
            for t in 0..piece.panels() {
                let corners = piece.mesh.corners(t);
                let of = |s: &usize| whole.mesh.corners(*s) == corners;
                let same = (0..144).find(of).unwrap();
                assert_eq!(piece.areas[t], whole.areas[same]);
                let conductor = |problem: &Problem, t: usize| problem.conductors.of_triangle[t];
                assert_eq!(conductor(&piece, t), conductor(&whole, same));
                let sides =
                    |problem: &Problem, t: usize| problem.media.as_ref().unwrap().permittivity[t];
                assert_eq!(sides(&piece, t), sides(&whole, same));
            }
        }
    }

    /// Each block lies together, and a conductor that none of them meets has some triangles all the
    /// same.
    #[test]
    fn a_piece_is_a_few_blocks_and_some_of_what_is_elsewhere() {
        let resolution = Resolution::Elements(20_000);
        let base = SphereBase::Icosahedron;
        let ball = Sphere { radius: 1.0, base, resolution }.build().unwrap();
        let mesh = testing::joined([("ball", ball), ("cube", testing::cube([0.0, 0.0, 9.0]))]);
        let problem = Problem::new(Description::default(), mesh).unwrap();
        let piece = problem.piece(2_000, usize::MAX).unwrap();
        let of_cube = piece.conductors.of_triangle.iter().filter(|owner| **owner == Some(1));
        assert_eq!(of_cube.count(), LEAST);
        let mut sides = std::collections::HashMap::new();
        for [a, b, c] in &piece.mesh.triangles {
            for side in [[a, b], [b, c], [c, a]] {
                *sides.entry([*side[0].min(side[1]), *side[0].max(side[1])]).or_insert(0) += 1;
            }
        }
        let rim = sides.values().filter(|count| **count == 1).count();
        let inner = sides.len() - rim;
        // Blocks of 500 have a rim of some 50 sides each.
        assert!(20 * rim > inner && 6 * rim < inner, "{rim} {inner}");
    }

    #[test]
    fn every_conductor_is_in_a_piece_and_it_can_be_solved() {
        let names: Vec<String> = (0..12).map(|k| format!("c{k}")).collect();
        let cube = |k: usize| (names[k].as_str(), testing::cube([2.0 * k as f64, 0.0, 0.0]));
        let mesh = testing::joined::<12>(std::array::from_fn(cube));
        let plane = mesh::mirror::Plane { axis: 2, at: -3.0 };
        let planes = vec![bem::Mirror { plane, odd: true }];
        let problem = Problem::new(Description { planes, ..Description::default() }, mesh).unwrap();
        let piece = problem.piece(problem.panels() / 4, usize::MAX).unwrap();
        assert!(piece.panels() < problem.panels() / 2, "{}", piece.panels());
        for conductor in 0..12 {
            assert!(piece.conductors.of_triangle.contains(&Some(conductor)), "{conductor}");
        }
        let solution = piece.solve(&Options::default(), &Quiet).unwrap();
        assert!(solution.converged());
    }

    #[test]
    fn a_piece_of_many_conductors_excites_some_and_has_little_of_each() {
        let names: Vec<String> = (0..12).map(|k| format!("c{k}")).collect();
        let cube = |k: usize| (names[k].as_str(), testing::cube([2.0 * k as f64, 0.0, 0.0]));
        let mesh = testing::joined::<12>(std::array::from_fn(cube));
        let problem = Problem::new(Description::default(), mesh).unwrap();
        let piece = problem.piece(24, 3).unwrap();
        assert_eq!((piece.excited(), piece.conductors.names.len()), (&[0, 1, 2][..], 12));
        assert!(piece.panels() <= 24 + 12 * 2, "{}", piece.panels());
        let solution = piece.solve(&Options::default(), &Quiet).unwrap();
        assert_eq!(solution.columns, [0, 1, 2]);
        assert!(solution.converged());
    }

    #[test]
    fn sensitivities_that_need_no_whole_bodies_are_found_of_a_piece() {
        let by = [
            Parameter::Shift(vec!["inner".to_owned()]),
            Parameter::Shift(vec!["outer".to_owned()]),
            Parameter::Permittivity("outer".to_owned()),
        ];
        let named = |(k, by)| Sensitivity { name: format!("s{k}"), by };
        let conductors = vec![Conductor::new("inner")];
        let dielectrics = vec![Dielectric::new("outer", 4.0)];
        let sensitivities = by.into_iter().enumerate().map(named).collect();
        let description =
            Description { conductors, dielectrics, sensitivities, ..Description::default() };
        let problem = Problem::new(description, testing::shells()).unwrap();
        let solution =
            problem.piece(72, usize::MAX).unwrap().solve(&Options::default(), &Quiet).unwrap();
        let names: Vec<&str> = solution.derivatives.iter().map(|of| of.name.as_str()).collect();
        assert!(names.contains(&"s2") && !names.contains(&"s1"), "{names:?}");
    }

    #[test]
    fn pieces_in_layers_can_be_solved() {
        let layer = bem::StackLayer { thickness: 4.0, permittivity: 3.9 };
        let (below, above) = (bem::Beyond::Dielectric(11.7), bem::Beyond::Ground);
        let (layers, tolerance) = (vec![layer], 1e-6);
        let stack = bem::Stack { axis: 2, at: 0.0, below, layers, above, tolerance };
        let problem = |stack| {
            let description = Description { stack: Some(stack), ..Description::default() };
            Problem::new(description, testing::cube([0.0, 0.0, 2.0])).unwrap()
        };
        let whole = problem(stack);
        let piece = whole.piece(whole.panels() / 2, usize::MAX).unwrap();
        assert_eq!(piece.panels(), whole.panels() / 2);
        assert!(piece.solve(&Options::default(), &Quiet).unwrap().converged());
    }
}
