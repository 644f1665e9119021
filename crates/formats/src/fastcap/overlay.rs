//! Panels that lie on each other, cut into pieces that are what all of their panels say together.

use mesh::files::{Cause, FormatError};
use mesh::overlay::{self, Piece};
use mesh::polygon::area_vector;
use mesh::vector::{dot, norm, sub};
use mesh::weld;

use super::origin::{Origin, counted};
use super::statement::{Conflict, Statement};
use super::triangles::Triangles;
use crate::roles::Role;

/// Corners made by cuts are one within this times the tolerance: lines at a flat angle that differ
/// by rounding cross at places that differ by more.
const CUT: f64 = 4.0;

/// How panels on one place are taken.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    /// Lengths up to this count as nothing.
    pub tolerance: f64,
    /// Whether panels may contradict each other.
    pub lenient: bool,
    /// The names of conductors.
    pub names: &'a [String],
}

/// Panels that lie on each other.
pub(super) struct Overlaid {
    /// Per triangle: whether the media on its sides are known, but not which is on which.
    pub open: Vec<bool>,
    /// Per conductor of which something lies on others: one of these.
    pub on: Vec<Option<u32>>,
}

/// Places whose panels contradict each other, of which one counts.
#[derive(Default)]
struct Counts {
    media: usize,
    conductors: usize,
}

/// Cuts panels that lie on each other into pieces, and makes each piece what all of its panels say
/// together.
pub(super) fn lay_over(
    triangles: &mut Triangles,
    rules: Rules<'_>,
    notes: &mut Vec<String>,
) -> Result<Overlaid, FormatError> {
    let all = triangles.count();
    let mut on = vec![None; rules.names.len()];
    let pieces = overlay::pieces(&triangles.mesh, rules.tolerance);
    if pieces.is_empty() {
        return Ok(Overlaid { open: vec![false; all], on });
    }
    let mut covered = vec![false; all];
    let mut on_others = vec![false; all];
    let mut counts = Counts::default();
    let mut made: Vec<(Piece, Statement)> = Vec::new();
    for piece in pieces {
        for &t in &piece.triangles {
            covered[t as usize] = true;
            on_others[t as usize] |= piece.triangles.len() > 1;
        }
        let Some(whole) = together(triangles, &piece, rules, &mut counts, &mut on)? else {
            continue;
        };
        if whole.role.conductor.is_some() || whole.role.sides[0] != whole.role.sides[1] {
            made.push((piece, whole));
        }
    }
    note(on_others.iter().filter(|is| **is).count(), counts, notes);
    Ok(Overlaid { open: replace(triangles, &covered, made, rules.tolerance), on })
}

/// What all panels of a piece say together; `None` where they only overlap by rounding. `on` gets
/// the conductors that lie on others.
fn together(
    triangles: &Triangles,
    piece: &Piece,
    rules: Rules<'_>,
    counts: &mut Counts,
    on: &mut [Option<u32>],
) -> Result<Option<Statement>, FormatError> {
    let statements = piece.triangles.iter().map(|&t| statement(triangles, piece, t));
    let mut statements: Vec<Statement> = statements.collect();
    // What metal lies on is what all interfaces there say together.
    statements.sort_by_key(|statement| statement.role.conductor.is_some());
    let mut statements = statements.into_iter();
    let Some(mut whole) = statements.next() else { return Ok(None) };
    for next in statements {
        whole = match (whole.with(next), whole.role.conductor, next.role.conductor) {
            (Ok(both), ..) => both,
            (Err(_), ..) if is_strip(piece, CUT * rules.tolerance) => return Ok(None),
            (Err(conflict), ..) if !rules.lenient => {
                return Err(contradiction(triangles, conflict, [whole, next], rules.names));
            }
            (Err(Conflict::Conductors), Some(former), Some(later)) => {
                counts.conductors += 1;
                on[later] = Some(former as u32);
                whole
            }
            (Err(_), ..) => {
                counts.media += 1;
                next
            }
        };
    }
    Ok(Some(whole))
}

/// What the panel of a triangle says of a piece.
fn statement(triangles: &Triangles, piece: &Piece, triangle: u32) -> Statement {
    let mut role = triangles.role(triangle as usize);
    let normal = area_vector(&triangles.mesh.corners(triangle as usize));
    if dot(normal, piece.area_vector()) < 0.0 {
        role.sides.reverse();
    }
    Statement { role, triangle, is_open: false }
}

/// Whether a piece is narrower than this: rounding makes neighbours in a plane overlap.
fn is_strip(piece: &Piece, width: f64) -> bool {
    let [first, ..] = piece.corners[..] else { return true };
    let length = piece.corners.iter().map(|x| norm(sub(*x, first))).fold(0.0, f64::max);
    norm(piece.area_vector()) <= 0.5 * width * length
}

/// The error of two panels on one place, at the later one.
fn contradiction(
    triangles: &Triangles,
    conflict: Conflict,
    both: [Statement; 2],
    names: &[String],
) -> FormatError {
    let [a, b] = both.map(|statement| triangles.place(statement.triangle as usize));
    let [x, y] = both.map(|statement| statement.role);
    let name = |role: Role| role.conductor.map_or("", |k| names[k].as_str());
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
    cause.on_line(triangles.line(both[1].triangle as usize))
}

/// The permittivities on both sides, one if they are equal.
fn media(role: Role) -> String {
    let [front, back] = role.permittivities();
    if front == back { format!("{front}") } else { format!("{front}|{back}") }
}

/// Notes how many triangles lie on others, and at how many places panels contradict each other.
fn note(on_others: usize, counts: Counts, notes: &mut Vec<String>) {
    if on_others > 0 {
        notes.push(counted(
            on_others,
            "triangle lies on others: each place counts once",
            "triangles lie on others: each place counts once",
        ));
    }
    for (count, what) in [
        (counts.media, "panels of different media: those of the later line count"),
        (counts.conductors, "panels of different conductors: those of the former line count"),
    ] {
        if count > 0 {
            notes.push(counted(count, "place has", "places have") + " " + what);
        }
    }
}

/// Puts pieces in place of the triangles that they cover. Returns which triangles are open.
fn replace(
    triangles: &mut Triangles,
    covered: &[bool],
    pieces: Vec<(Piece, Statement)>,
    tolerance: f64,
) -> Vec<bool> {
    let panel = |statement: &Statement| triangles.panel_of[statement.triangle as usize];
    let panels: Vec<Origin> = pieces.iter().map(|(_, statement)| panel(statement)).collect();
    triangles.keep(|t| !covered[t]);
    let before = triangles.mesh.vertices.len();
    let mut open = vec![false; triangles.count()];
    for ((piece, statement), panel) in pieces.into_iter().zip(panels) {
        let first = triangles.mesh.vertices.len() as u32;
        let role = triangles.roles.index(statement.role) as u32;
        for part in piece.parts(tolerance) {
            triangles.mesh.triangles.push(part.map(|k| first + k as u32));
            triangles.mesh.membership.push(0);
            triangles.role_of.push(role);
            triangles.panel_of.push(panel);
            open.push(statement.is_open);
        }
        triangles.mesh.vertices.extend(piece.corners);
    }
    // Corners of pieces are new vertices, at those that there are or within rounding of others.
    let near = weld::first_at(&triangles.mesh.vertices, tolerance);
    let wide = weld::first_at(&triangles.mesh.vertices, CUT * tolerance);
    for v in triangles.mesh.triangles.iter_mut().flatten() {
        let nearest = near[*v as usize];
        *v = if (nearest as usize) < before { nearest } else { wide[*v as usize] };
    }
    // Neighbours of those without height are cut where their corners are.
    let is_high = |t: usize| triangles.height(t) > tolerance;
    let high: Vec<bool> = (0..triangles.count()).map(is_high).collect();
    let kept = open.into_iter().zip(&high).filter(|(_, high)| **high);
    let open = kept.map(|(open, _)| open).collect();
    triangles.keep(|t| high[t]);
    triangles.drop_unused();
    open
}
