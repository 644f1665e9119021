//! How triangles hang together: shared edges, components, closedness and orientation.

use crate::surface::Mesh;
use crate::vector::{cross, dot, sub};

/// A triangle at an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Side {
    /// The edge's vertex of higher index.
    pub high: u32,
    pub triangle: u32,
    /// Whether the triangle runs through the edge from its lower to its higher vertex.
    pub forward: bool,
}

/// All sides of all triangles, sorted by edge.
///
/// Sides are bucketed by their lower vertex and sorted within the few of a bucket: linear in practice, n log n at worst.
pub(crate) struct Sides {
    /// For each vertex where its sides start in `sides`, and the end of the last.
    starts: Vec<usize>,
    sides: Vec<Side>,
}

impl Sides {
    pub fn of(mesh: &Mesh) -> Self {
        let mut starts = vec![0; mesh.vertices.len() + 2];
        for (low, _) in all_sides(mesh) {
            starts[low as usize + 2] += 1;
        }
        for v in 2..starts.len() {
            starts[v] += starts[v - 1];
        }
        let unset = Side { high: 0, triangle: 0, forward: false };
        let mut sides = vec![unset; starts.last().copied().unwrap_or(0)];
        // Filling moves each start to its end, which is the next one's start.
        for (low, side) in all_sides(mesh) {
            let next = &mut starts[low as usize + 1];
            sides[*next] = side;
            *next += 1;
        }
        starts.pop();
        for bucket in starts.windows(2) {
            sides[bucket[0]..bucket[1]].sort_unstable();
        }
        Self { starts, sides }
    }

    /// The sides at each edge, edge by edge.
    pub fn edges(&self) -> impl Iterator<Item = &[Side]> {
        self.starts
            .windows(2)
            .flat_map(|bucket| self.sides[bucket[0]..bucket[1]].chunk_by(|a, b| a.high == b.high))
    }
}

/// Each triangle's sides under their lower vertex; a side from a vertex to itself is none.
fn all_sides(mesh: &Mesh) -> impl Iterator<Item = (u32, Side)> {
    mesh.triangles.iter().enumerate().flat_map(|(triangle, &[a, b, c])| {
        [(a, b), (b, c), (c, a)].into_iter().filter(|(p, q)| p != q).map(move |(p, q)| {
            (p.min(q), Side { high: p.max(q), triangle: triangle as u32, forward: p < q })
        })
    })
}

/// A set of triangles, a component or a physical group, taken by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Number of triangles.
    pub triangles: usize,
    /// Number of edges.
    pub edges: usize,
    /// Edges of one triangle of the part.
    pub boundary_edges: usize,
    /// Edges of more than two triangles of the part, as where sheets meet in a T.
    pub non_manifold_edges: usize,
    /// Edges that as many triangles should run through one way as the other, but do not: normals flip sides there.
    pub flipped_edges: usize,
    /// Whether every edge has an even number of triangles, so that the part encloses space.
    pub closed: bool,
    /// Volume enclosed, positive if normals point outward, in the cube of the mesh's unit; meaningful if closed and consistent.
    pub signed_volume: f64,
}

/// Which way the normals of a part point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// Out of the space that the part encloses.
    Outward,
    /// Into the space that the part encloses.
    Inward,
    /// To one side throughout, of a surface that encloses nothing.
    Open,
    /// To different sides in different places.
    Inconsistent,
}

impl Part {
    /// Which way the normals point.
    pub fn orientation(&self) -> Orientation {
        if self.flipped_edges > 0 {
            Orientation::Inconsistent
        } else if !self.closed {
            Orientation::Open
        } else if self.signed_volume < 0.0 {
            Orientation::Inward
        } else {
            Orientation::Outward
        }
    }

    /// Enters one edge, of which `uses` triangles of this part run through forward minus backward = `balance` times.
    fn add_edge(&mut self, uses: usize, balance: isize) {
        self.edges += 1;
        self.boundary_edges += usize::from(uses == 1);
        self.non_manifold_edges += usize::from(uses > 2);
        self.flipped_edges += usize::from(uses.is_multiple_of(2) && balance != 0);
        self.closed &= uses.is_multiple_of(2);
    }
}

/// The connections of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Whole mesh taken together.
    pub whole: Part,
    /// Components joined by shared edges, in the order of their first triangles.
    pub components: Vec<Part>,
    /// For each triangle an index into `components`.
    pub component_of: Vec<u32>,
    /// The physical groups, in the mesh's order.
    pub groups: Vec<Part>,
    /// Vertex pairs of the edges with more than two triangles.
    pub non_manifold_edges: Vec<[u32; 2]>,
}

impl Topology {
    /// Works out the connections of a valid mesh ([`Mesh::validate`]) in O(n log n).
    pub fn of(mesh: &Mesh) -> Self {
        let sides = Sides::of(mesh);
        let (component_of, count) = label_components(mesh, &sides, |_| true);
        let fresh = || Part { closed: true, ..Part::default() };
        let mut whole = fresh();
        let mut components = vec![fresh(); count];
        let mut groups = vec![fresh(); mesh.groups.len()];
        let mut non_manifold_edges = Vec::new();
        let mut per_group: Vec<(u32, usize, isize)> = Vec::new();
        for edge in sides.edges() {
            let balance = edge.iter().map(|side| if side.forward { 1 } else { -1 }).sum();
            whole.add_edge(edge.len(), balance);
            components[component_of[edge[0].triangle as usize] as usize]
                .add_edge(edge.len(), balance);
            if edge.len() > 2 {
                let [a, b, c] = mesh.triangles[edge[0].triangle as usize];
                let high = edge[0].high;
                let ends = [(a, b), (b, c), (c, a)];
                let low = ends
                    .iter()
                    .find(|(p, q)| (*p.max(q) == high) && (p < q) == edge[0].forward && p != q);
                non_manifold_edges.extend(low.map(|(p, q)| [*p.min(q), high]));
            }
            per_group.clear();
            for side in edge {
                for &group in mesh.groups_of(side.triangle as usize) {
                    let step = if side.forward { 1 } else { -1 };
                    match per_group.iter_mut().find(|entry| entry.0 == group) {
                        Some(entry) => (entry.1, entry.2) = (entry.1 + 1, entry.2 + step),
                        None => per_group.push((group, 1, step)),
                    }
                }
            }
            for &(group, uses, balance) in &per_group {
                groups[group as usize].add_edge(uses, balance);
            }
        }
        enclose(mesh, (0..mesh.triangles.len()).map(|t| (t, 0)), std::slice::from_mut(&mut whole));
        enclose(
            mesh,
            component_of.iter().enumerate().map(|(t, &c)| (t, c as usize)),
            &mut components,
        );
        let members = (0..mesh.triangles.len())
            .flat_map(|t| mesh.groups_of(t).iter().map(move |&g| (t, g as usize)));
        enclose(mesh, members, &mut groups);
        Self { whole, components, component_of, groups, non_manifold_edges }
    }
}

/// Counts triangles and sums signed volumes of parts, from pairs (triangle, part).
fn enclose(mesh: &Mesh, members: impl Iterator<Item = (usize, usize)>, parts: &mut [Part]) {
    // Cones from a point of the part itself: far from the origin, cones from there would cancel badly.
    let mut apex = vec![None; parts.len()];
    for (triangle, part) in members {
        let [a, b, c] = mesh.corners(triangle);
        let apex = *apex[part].get_or_insert(a);
        let six_volumes = dot(sub(a, apex), cross(sub(b, apex), sub(c, apex)));
        parts[part].signed_volume += six_volumes / 6.0;
        parts[part].triangles += 1;
    }
    for part in parts {
        part.closed &= part.triangles > 0;
    }
}

/// For each triangle of a valid mesh the component it belongs to, and the number of components.
///
/// Triangles are joined by shared edges; components are numbered in the order of their first triangles.
pub fn components(mesh: &Mesh) -> (Vec<u32>, usize) {
    label_components(mesh, &Sides::of(mesh), |_| true)
}

/// The same, joined only by those edges that `joins` accepts.
pub(crate) fn components_where(mesh: &Mesh, joins: impl Fn(&[Side]) -> bool) -> (Vec<u32>, usize) {
    label_components(mesh, &Sides::of(mesh), joins)
}

fn label_components(
    mesh: &Mesh,
    sides: &Sides,
    joins: impl Fn(&[Side]) -> bool,
) -> (Vec<u32>, usize) {
    let mut parent: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
    for edge in sides.edges().filter(|edge| joins(edge)) {
        for pair in edge.windows(2) {
            let (a, b) = (root(&mut parent, pair[0].triangle), root(&mut parent, pair[1].triangle));
            // The lower index stays root, so that roots are first triangles.
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut labels = vec![0; parent.len()];
    let mut count = 0;
    for triangle in 0..parent.len() as u32 {
        let root = root(&mut parent, triangle);
        labels[triangle as usize] = if root == triangle {
            count += 1;
            count - 1
        } else {
            labels[root as usize]
        };
    }
    (labels, count as usize)
}

/// The root of a triangle's tree, halving the path to it.
fn root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        let above = parent[node as usize];
        parent[node as usize] = parent[above as usize];
        node = parent[node as usize];
    }
    node
}
