//! What panels on one place say together.

use crate::roles::Role;

/// What panels say of a place so far.
#[derive(Clone, Copy)]
pub(super) struct Statement {
    /// With the media in front of the piece and behind it.
    pub role: Role,
    /// The triangle whose panel stands for all.
    pub triangle: u32,
    /// Whether the media are known, but not which is on which side.
    pub is_open: bool,
}

/// What two panels on one place do not agree on.
#[derive(Clone, Copy)]
pub(super) enum Conflict {
    Media,
    Conductors,
}

impl Statement {
    /// What this panel and another on its place say together.
    pub(super) fn with(self, other: Self) -> Result<Self, Conflict> {
        match (self.role.conductor, other.role.conductor) {
            (Some(x), Some(y)) if x != y => Err(Conflict::Conductors),
            (Some(_), Some(_)) => self.with_same_metal(other),
            (Some(_), None) => Ok(self.upon(other)),
            (None, Some(_)) => Ok(other.upon(self)),
            (None, None) => self.with_interface(other),
        }
    }

    /// Both are metal of one conductor.
    fn with_same_metal(self, other: Self) -> Result<Self, Conflict> {
        let ([a_front, a_back], [b_front, b_back]) = (self.role.sides, other.role.sides);
        let has = |sides: [u64; 2], medium: u64| sides.contains(&medium);
        if self.role.sides == other.role.sides
            || (b_front == b_back && has(self.role.sides, b_front))
        {
            Ok(self)
        } else if a_front == a_back && has(other.role.sides, a_front) {
            Ok(other)
        } else if a_front == a_back && b_front == b_back {
            let role = Role { thin: true, sides: [a_front, b_front], ..self.role };
            Ok(Self { role, is_open: true, ..self })
        } else {
            Err(Conflict::Media)
        }
    }

    /// Both are interfaces.
    fn with_interface(self, other: Self) -> Result<Self, Conflict> {
        let ([a_front, a_back], [b_front, b_back]) = (self.role.sides, other.role.sides);
        let sides = if self.role.sides == other.role.sides {
            self.role.sides
        } else if a_back == b_front {
            // What is between them has no height.
            [a_front, b_back]
        } else if a_front == b_back {
            [b_front, a_back]
        } else {
            return Err(Conflict::Media);
        };
        Ok(Self { role: Role { sides, ..self.role }, ..self })
    }

    /// Metal on an interface: it lies between the same media, if one of them is its own.
    fn upon(self, interface: Self) -> Self {
        let [front, back] = self.role.sides;
        let sides = interface.role.sides;
        if sides[0] == sides[1] {
            return self;
        }
        let is_same = self.is_open && (sides == [front, back] || sides == [back, front]);
        if is_same || (front == back && sides.contains(&front)) {
            let role = Role { thin: true, sides, ..self.role };
            return Self { role, is_open: false, ..self };
        }
        self
    }
}
