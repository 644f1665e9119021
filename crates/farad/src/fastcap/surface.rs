//! Panels as they come made a surface: each place once, triangles that meet in common edges.
//!
//! What a place is follows from all panels on it. Metal is metal wherever it lies, and has the
//! media of the interface that it covers, which is what all interfaces there say together. A body
//! on another closes the gap of no height between them. Two interfaces that say the same are one.

use std::collections::{HashMap, HashSet};

use mesh::files::{Cause, FormatError};
use mesh::locate::Locator;
use mesh::overlay::{self, Piece};
use mesh::polygon::area_vector;
use mesh::quality::relative_height;
use mesh::vector::{cross, dot, norm, sub};
use mesh::{Mesh, conform, weld};

use super::origin::{Origin, counted, place_of};
use crate::roles::{Role, Roles};

/// Cosine of the angle up to which a neighbour goes on in the same plane.
const LEVEL: f64 = 0.99;

/// Triangles lower than this share of what counts as nothing are left out of what cuts make.
const SLIVER: f64 = 1e-3;

/// Corners made by cuts are one within this times the tolerance: lines at a flat angle that differ
/// by rounding cross at places that differ by more.
const CUT: f64 = 4.0;

/// Triangles with their roles, and the panels that they are of.
pub(super) struct Surface {
    pub(super) mesh: Mesh,
    pub(super) roles: Roles,
    pub(super) role_of: Vec<u32>,
    pub(super) panel_of: Vec<Origin>,
    pub(super) files: Vec<String>,
}

/// What panels say of a place so far.
#[derive(Clone, Copy)]
struct Said {
    /// With the media in front of the piece and behind it.
    role: Role,
    /// The triangle whose panel stands for all.
    triangle: u32,
    /// Whether the media are known, but not which is on which side.
    is_open: bool,
}

impl Surface {
    /// Does all of it. `relative` is the share of the whole size that counts as nothing, `names`
    /// are those of conductors, `last` is the last line of the list.
    pub(super) fn clean(
        &mut self,
        relative: f64,
        lenient: bool,
        names: &[String],
        last: usize,
        notes: &mut Vec<String>,
    ) -> Result<(), FormatError> {
        let tolerance = weld::tolerance(&self.mesh.vertices, relative);
        let flat = self.drop_flat(tolerance);
        if flat > 0 {
            notes.push(counted(
                flat,
                "triangle of no area is left out",
                "triangles of no area are left out",
            ));
        }
        let before = self.mesh.triangles.len();
        let mut on: Vec<Option<u32>> = vec![None; names.len()];
        let open = self.lay_over(tolerance, lenient, (names, &mut on), notes)?;
        if self.mesh.triangles.is_empty() {
            return Err(Cause::NoTriangles.on_line(last));
        }
        let part_of = conform::conform(&mut self.mesh, tolerance);
        let of = |t: &u32| *t as usize;
        self.role_of = part_of.iter().map(|t| self.role_of[of(t)]).collect();
        self.panel_of = part_of.iter().map(|t| self.panel_of[of(t)]).collect();
        let mut open: Vec<bool> = part_of.iter().map(|t| open[of(t)]).collect();
        self.drop_slivers(tolerance, &mut open);
        let more = self.mesh.triangles.len().saturating_sub(before);
        if more > 0 {
            let what = ["triangle more, where panels meet", "triangles more, where panels meet"];
            notes.push(
                counted(more, what[0], what[1]) + " without common corners: they are cut there",
            );
        }
        self.choose_sides(open)?;
        self.check_conductors(names, &on).map_err(|cause| cause.on_line(last))
    }

    /// Leaves out triangles that are no higher than this, or than rounding; how many.
    fn drop_flat(&mut self, tolerance: f64) -> usize {
        let is_flat = |t: usize| height(self.mesh.corners(t)) <= tolerance;
        let flat: Vec<bool> = (0..self.mesh.triangles.len()).map(is_flat).collect();
        let count = flat.iter().filter(|flat| **flat).count();
        if count > 0 {
            self.keep(|t| !flat[t]);
        }
        count
    }

    /// Leaves out what cuts along panels that overlap by rounding leave of them: slivers without
    /// area, and those with the corners of an earlier one.
    fn drop_slivers(&mut self, tolerance: f64, open: &mut Vec<bool>) {
        let mut seen = HashSet::with_capacity(open.len());
        let is_first = |corners: &[u32; 3]| {
            let mut key = *corners;
            key.sort_unstable();
            seen.insert(key)
        };
        let mut is_kept: Vec<bool> = self.mesh.triangles.iter().map(is_first).collect();
        for (t, is_kept) in is_kept.iter_mut().enumerate() {
            *is_kept &= height(self.mesh.corners(t)) > SLIVER * tolerance;
        }
        if is_kept.contains(&false) {
            self.keep(|t| is_kept[t]);
            let mut is_kept = is_kept.iter();
            open.retain(|_| is_kept.next() == Some(&true));
        }
    }

    fn keep(&mut self, is_kept: impl Fn(usize) -> bool) {
        let kept = |t: &usize| is_kept(*t);
        let all: Vec<usize> = (0..self.mesh.triangles.len()).filter(kept).collect();
        self.mesh.triangles = all.iter().map(|&t| self.mesh.triangles[t]).collect();
        self.mesh.membership = all.iter().map(|&t| self.mesh.membership[t]).collect();
        self.role_of = all.iter().map(|&t| self.role_of[t]).collect();
        self.panel_of = all.iter().map(|&t| self.panel_of[t]).collect();
    }

    /// Cuts panels that lie on each other into pieces, and makes each piece what all of its panels
    /// say together. Returns which triangles have media whose sides are open; `on` gets, for
    /// conductors of which something lies on others, one of these.
    fn lay_over(
        &mut self,
        tolerance: f64,
        lenient: bool,
        (names, on): (&[String], &mut [Option<u32>]),
        notes: &mut Vec<String>,
    ) -> Result<Vec<bool>, FormatError> {
        let pieces = overlay::pieces(&self.mesh, tolerance);
        if pieces.is_empty() {
            return Ok(vec![false; self.mesh.triangles.len()]);
        }
        let mut covered = vec![false; self.mesh.triangles.len()];
        let mut on_others = vec![false; self.mesh.triangles.len()];
        let mut counts = [0; 2];
        let mut made: Vec<(Piece, Said)> = Vec::new();
        'pieces: for piece in pieces {
            for &t in &piece.triangles {
                covered[t as usize] = true;
                on_others[t as usize] |= piece.triangles.len() > 1;
            }
            let mut of_piece: Vec<Said> =
                piece.triangles.iter().map(|&t| self.said(&piece, t)).collect();
            // What metal lies on is what all interfaces there say together.
            of_piece.sort_by_key(|said| said.role.conductor.is_some());
            let mut of_piece = of_piece.into_iter();
            let Some(first) = of_piece.next() else { continue };
            let mut all = first;
            for next in of_piece {
                all = match (both(all, next), all.role.conductor, next.role.conductor) {
                    (Ok(both), ..) => both,
                    (Err(_), ..) if is_strip(&piece, CUT * tolerance) => continue 'pieces,
                    (Err(conflict), ..) if !lenient => {
                        return Err(self.conflict(conflict, [all, next], names));
                    }
                    (Err(Conflict::Conductors), Some(former), Some(later)) => {
                        counts[1] += 1;
                        on[later] = Some(former as u32);
                        all
                    }
                    (Err(_), ..) => {
                        counts[0] += 1;
                        next
                    }
                };
            }
            if all.role.conductor.is_some() || all.role.sides[0] != all.role.sides[1] {
                made.push((piece, all));
            }
        }
        let number = on_others.iter().filter(|is| **is).count();
        if number > 0 {
            notes.push(counted(
                number,
                "triangle lies on others: each place counts once",
                "triangles lie on others: each place counts once",
            ));
        }
        for (count, what) in counts.into_iter().zip([
            "panels of different media: those of the later line count",
            "panels of different conductors: those of the former line count",
        ]) {
            if count > 0 {
                notes.push(counted(count, "place has", "places have") + " " + what);
            }
        }
        Ok(self.replace(&covered, made, tolerance))
    }

    /// Leaves out the triangles that are covered and adds pieces.
    fn replace(
        &mut self,
        covered: &[bool],
        pieces: Vec<(Piece, Said)>,
        tolerance: f64,
    ) -> Vec<bool> {
        let panels: Vec<Origin> =
            pieces.iter().map(|(_, said)| self.panel_of[said.triangle as usize]).collect();
        self.keep(|t| !covered[t]);
        let before = self.mesh.vertices.len();
        let mut open = vec![false; self.mesh.triangles.len()];
        for ((piece, said), panel) in pieces.into_iter().zip(panels) {
            let first = self.mesh.vertices.len() as u32;
            let role = self.roles.index(said.role) as u32;
            for part in piece.parts(tolerance) {
                self.mesh.triangles.push(part.map(|k| first + k as u32));
                self.mesh.membership.push(0);
                self.role_of.push(role);
                self.panel_of.push(panel);
                open.push(said.is_open);
            }
            self.mesh.vertices.extend(piece.corners);
        }
        // Corners of pieces are new vertices, at those that there are or within rounding of others.
        let near = weld::first_at(&self.mesh.vertices, tolerance);
        let wide = weld::first_at(&self.mesh.vertices, CUT * tolerance);
        for v in self.mesh.triangles.iter_mut().flatten() {
            let at = near[*v as usize];
            *v = if (at as usize) < before { at } else { wide[*v as usize] };
        }
        // Neighbours of those without height are cut where their corners are.
        let is_high = |t: usize| height(self.mesh.corners(t)) > tolerance;
        let high: Vec<bool> = (0..self.mesh.triangles.len()).map(is_high).collect();
        let kept = open.into_iter().zip(&high).filter(|(_, high)| **high);
        let open = kept.map(|(open, _)| open).collect();
        self.keep(|t| high[t]);
        self.drop_unused();
        open
    }

    fn drop_unused(&mut self) {
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

    /// What the panel of a triangle says of a piece.
    fn said(&self, piece: &Piece, triangle: u32) -> Said {
        let mut role = self.roles.all[self.role_of[triangle as usize] as usize];
        let normal = area_vector(&self.mesh.corners(triangle as usize));
        if dot(normal, piece.area_vector()) < 0.0 {
            role.sides.reverse();
        }
        Said { role, triangle, is_open: false }
    }

    fn conflict(&self, conflict: Conflict, both: [Said; 2], names: &[String]) -> FormatError {
        let [a, b] = both.map(|said| place_of(&self.files, self.panel_of[said.triangle as usize]));
        let media = |said: Said| {
            let [front, back] = said.role.permittivities();
            if front == back { format!("{front}") } else { format!("{front}|{back}") }
        };
        let name = |said: Said| said.role.conductor.map_or("", |k| names[k].as_str());
        let [x, y] = both;
        let cause = Cause::Other(match conflict {
            Conflict::Media => format!(
                "the panels in {a} and in {b} lie on each other, but have different media, {} and {}: give each place once; read \
                 leniently (--lenient), the later line counts",
                media(x),
                media(y)
            ),
            Conflict::Conductors => format!(
                "the panels in {a} and in {b} lie on each other, so the conductors \"{}\" and \"{}\" touch or go through each other: \
                 leave a gap between them, or make them one (join their lines by + and give both one name); read leniently \
                 (--lenient), the former line counts",
                name(x),
                name(y)
            ),
        });
        cause.on_line(self.line_of(y.triangle as usize))
    }

    /// The line of the list that a triangle is from, or of the file of panels without one.
    fn line_of(&self, triangle: usize) -> usize {
        let Origin { line, listed, .. } = self.panel_of[triangle];
        if listed > 0 { listed as usize } else { line as usize }
    }

    /// Finds on which side each medium of metal is whose panels name one medium each: first from
    /// neighbours in the same plane, then from what lies across the space next to it.
    fn choose_sides(&mut self, mut open: Vec<bool>) -> Result<(), FormatError> {
        if !open.contains(&true) {
            return Ok(());
        }
        let mut at: HashMap<[u32; 2], Vec<(usize, bool)>> = HashMap::new();
        for (t, corners) in self.mesh.triangles.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                at.entry([a.min(b), a.max(b)]).or_default().push((t, a < b));
            }
        }
        let mut decided: Vec<usize> = (0..open.len()).filter(|&t| !open[t]).collect();
        let mut rays = false;
        loop {
            while let Some(s) = decided.pop() {
                let corners = self.mesh.triangles[s];
                for k in 0..3 {
                    let (a, b) = (corners[k], corners[(k + 1) % 3]);
                    for &(t, forth) in &at[&[a.min(b), a.max(b)]] {
                        if open[t] && self.goes_on(s, t) {
                            // Neighbours that face one side run through their edge in opposite
                            // directions.
                            self.set_sides(t, s, forth == (a < b));
                            open[t] = false;
                            decided.push(t);
                        }
                    }
                }
            }
            if rays || !open.contains(&true) {
                break;
            }
            rays = true;
            self.look_around(&mut open, &mut decided);
        }
        match open.iter().position(|open| *open) {
            None => Ok(()),
            Some(t) => Err(Cause::Other(format!(
                "the panel in {} is metal between two media, and nothing tells which is on which side: give it by one B line with a \
                 reference point",
                place_of(&self.files, self.panel_of[t])
            ))
            .on_line(self.line_of(t))),
        }
    }

    /// Whether a triangle lies between the same two media as another in its plane.
    fn goes_on(&self, s: usize, t: usize) -> bool {
        let [[a, b], [c, d]] = [s, t].map(|t| self.roles.all[self.role_of[t] as usize].sides);
        let [n, m] = [s, t].map(|t| area_vector(&self.mesh.corners(t)));
        ([a, b] == [c, d] || [b, a] == [c, d]) && dot(n, m).abs() > LEVEL * norm(n) * norm(m)
    }

    /// Gives a triangle the media of another on the same sides, or on the other ones.
    fn set_sides(&mut self, t: usize, from: usize, is_turned: bool) {
        let mut sides = self.roles.all[self.role_of[from] as usize].sides;
        if is_turned {
            sides.reverse();
        }
        let role = Role { sides, ..self.roles.all[self.role_of[t] as usize] };
        self.role_of[t] = self.roles.index(role) as u32;
    }

    /// Decides by the medium in which a line straight up or down ends.
    fn look_around(&mut self, open: &mut [bool], decided: &mut Vec<usize>) {
        let locator = Locator::new(&self.mesh);
        for t in (0..open.len()).filter(|&t| open[t]).collect::<Vec<_>>() {
            let [a, b, c] = self.mesh.corners(t);
            let centre = std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0);
            let normal = cross(sub(b, a), sub(c, a));
            let [x, y] = self.roles.all[self.role_of[t] as usize].sides;
            // Whether the first medium is in front.
            let straight = [0, 1].into_iter().find_map(|side| {
                let direction = if side == 0 { normal } else { normal.map(|x| -x) };
                let hit = locator.first_hit(centre, direction, t as u32)?;
                let other = hit.triangle as usize;
                let facing = usize::from(hit.is_along_normal);
                let medium = self.roles.all[self.role_of[other] as usize].sides[facing];
                let known = !open[other] && (medium == x || medium == y);
                known.then_some((medium == x) == (side == 0))
            });
            if let Some(straight) = straight {
                let mut role = self.roles.all[self.role_of[t] as usize];
                role.sides = if straight { [x, y] } else { [y, x] };
                self.role_of[t] = self.roles.index(role) as u32;
                open[t] = false;
                decided.push(t);
            }
        }
    }

    /// Refuses conductors of which nothing is left.
    fn check_conductors(&self, names: &[String], on: &[Option<u32>]) -> Result<(), Cause> {
        let mut is_there = vec![false; names.len()];
        let conductors = self.role_of.iter().map(|&role| self.roles.all[role as usize].conductor);
        conductors.flatten().for_each(|conductor| is_there[conductor] = true);
        let Some(gone) = is_there.iter().position(|is| !is) else { return Ok(()) };
        let name = &names[gone];
        Err(Cause::Other(match on[gone] {
            Some(other) => format!(
                "all panels of conductor \"{name}\" lie on those of conductor \"{}\": remove one of the two, or join their lines by + \
                 and give both the same name",
                names[other as usize]
            ),
            None => format!("no panel of conductor \"{name}\" has an area"),
        }))
    }
}

/// The height of a triangle over its longest side.
fn height([a, b, c]: [[f64; 3]; 3]) -> f64 {
    let longest = norm(sub(b, a)).max(norm(sub(c, b))).max(norm(sub(a, c)));
    relative_height([a, b, c]) * longest
}

/// What panels on one place do not agree on.
#[derive(Clone, Copy)]
enum Conflict {
    Media,
    Conductors,
}

/// Whether a piece is narrower than this: rounding makes neighbours in a plane overlap.
fn is_strip(piece: &Piece, width: f64) -> bool {
    let [first, ..] = piece.corners[..] else { return true };
    let length = piece.corners.iter().map(|x| norm(sub(*x, first))).fold(0.0, f64::max);
    norm(piece.area_vector()) <= 0.5 * width * length
}

/// What two panels on one place say together.
fn both(a: Said, b: Said) -> Result<Said, Conflict> {
    let ([a_front, a_back], [b_front, b_back]) = (a.role.sides, b.role.sides);
    let has = |sides: [u64; 2], medium: u64| sides.contains(&medium);
    match (a.role.conductor, b.role.conductor) {
        (Some(x), Some(y)) if x != y => Err(Conflict::Conductors),
        (Some(_), Some(_)) => {
            if a.role.sides == b.role.sides || (b_front == b_back && has(a.role.sides, b_front)) {
                Ok(a)
            } else if a_front == a_back && has(b.role.sides, a_front) {
                Ok(b)
            } else if a_front == a_back && b_front == b_back {
                let role = Role { thin: true, sides: [a_front, b_front], ..a.role };
                Ok(Said { role, is_open: true, ..a })
            } else {
                Err(Conflict::Media)
            }
        }
        (Some(_), None) => Ok(upon(a, b)),
        (None, Some(_)) => Ok(upon(b, a)),
        (None, None) => {
            let sides = if a.role.sides == b.role.sides {
                a.role.sides
            } else if a_back == b_front {
                // What is between them has no height.
                [a_front, b_back]
            } else if a_front == b_back {
                [b_front, a_back]
            } else {
                return Err(Conflict::Media);
            };
            Ok(Said { role: Role { sides, ..a.role }, ..a })
        }
    }
}

/// Metal on an interface: it lies between the same media, if one of them is its own.
fn upon(metal: Said, interface: Said) -> Said {
    let [front, back] = metal.role.sides;
    let sides = interface.role.sides;
    if sides[0] == sides[1] {
        return metal;
    }
    let is_same = metal.is_open && (sides == [front, back] || sides == [back, front]);
    if is_same || (front == back && sides.contains(&front)) {
        let role = Role { thin: true, sides, ..metal.role };
        return Said { role, is_open: false, ..metal };
    }
    metal
}
