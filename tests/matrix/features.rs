//! The features of a case, and lists of cases in which every pair of levels of two features occurs.

use super::random::Random;

macro_rules! factors {
    ($($(#[$doc:meta])* $factor:ident { $($level:ident),* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $factor { $($level),* }

            impl $factor {
                const ALL: &[Self] = &[$(Self::$level),*];
            }
        )*
        /// The name of each feature and those of its levels.
        pub const FACTORS: &[(&str, &[&str])] = &[$((stringify!($factor), &[$(stringify!($level)),*])),*];
    };
}

factors! {
    /// What the case says of conductors.
    Conductors { Absent, Plain, Potential, Floating, Mixed }
    /// How dielectrics lie.
    Dielectrics { Absent, Solid, Coat, Shell, Walls, Covered }
    /// Metal without thickness on a dielectric's surface.
    Film { Absent, Present }
    Permittivity { Ordinary, High, Low }
    Charges { Absent, Outside, Inside, InPlane }
    Field { Absent, Present }
    /// G: ground, S: symmetric.
    #[expect(clippy::upper_case_acronyms, reason = "a letter a plane")]
    Planes { Absent, G, S, GG, GS, SS, GGG, GGS, GSS, SSS }
    /// Whether bodies touch planes.
    Standing { Off, Cut }
    Bodies { One, Two, Three }
    Shape { Ellipsoid, Boxes, Prism, Plates }
    Spread { Even, Near, Small, Far }
    Probes { Absent, Present }
    Forces { Absent, Present }
    Polarisability { Absent, Present }
    Tolerance { E4, E6, E8 }
}

/// The level of each feature, in the order of [`FACTORS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features(pub Vec<usize>);

macro_rules! getters {
    ($($index:expr, $name:ident, $factor:ident;)*) => {
        impl Features {
            $(pub fn $name(&self) -> $factor { $factor::ALL[self.0[$index]] })*
        }
    };
}

getters! {
    0, conductors, Conductors;
    1, dielectrics, Dielectrics;
    2, film, Film;
    3, permittivity, Permittivity;
    4, charges, Charges;
    5, field, Field;
    6, planes, Planes;
    7, standing, Standing;
    8, bodies, Bodies;
    9, shape, Shape;
    10, spread, Spread;
    11, probes, Probes;
    12, forces, Forces;
    13, polarisability, Polarisability;
    14, tolerance, Tolerance;
}

impl Planes {
    /// Ground planes and planes of symmetry.
    pub fn counts(self) -> (usize, usize) {
        let name = FACTORS[6].1[self as usize];
        let count = |letter| name.matches(letter).count();
        if self == Self::Absent { (0, 0) } else { (count('G'), count('S')) }
    }
}

impl Features {
    fn random(random: &mut Random) -> Self {
        Self(FACTORS.iter().map(|(_, levels)| random.below(levels.len())).collect())
    }

    fn may_stand_on_ground(&self) -> bool {
        match self.dielectrics() {
            Dielectrics::Absent => false,
            Dielectrics::Coat | Dielectrics::Shell => self.conductors() == Conductors::Absent,
            _ => true,
        }
    }

    /// Whether there is such a case.
    pub fn is_possible(&self) -> bool {
        let (ground, symmetric) = self.planes().counts();
        let metal = self.conductors() != Conductors::Absent;
        let dielectric = self.dielectrics() != Dielectrics::Absent;
        let film = self.film() == Film::Present;
        let field = self.field() == Field::Present;
        let polarised = self.polarisability() == Polarisability::Present;
        let has_state = matches!(
            self.conductors(),
            Conductors::Potential | Conductors::Floating | Conductors::Mixed
        ) || self.charges() != Charges::Absent
            || field;
        let alone = self.bodies() == Bodies::One;
        let needs = [
            metal || dielectric,
            // Something to solve for, and something that probes and forces are about.
            metal || has_state || polarised,
            has_state || (self.probes() == Probes::Absent && self.forces() == Forces::Absent),
            !film || (metal && dielectric),
            self.dielectrics() != Dielectrics::Covered || metal,
            // One body alone has metal only in or on it.
            !(alone && metal && matches!(self.dielectrics(), Dielectrics::Solid)) || film,
            self.permittivity() == Permittivity::Ordinary || dielectric,
            self.charges() != Charges::InPlane || symmetric > 0,
            self.charges() != Charges::Inside || dielectric,
            // A field stands on ground planes and lies in planes of symmetry.
            !field || (ground <= 1 && symmetric <= 2 - ground.min(1) + usize::from(ground == 1)),
            !field || symmetric < 3,
            !polarised || ground == 0,
            self.standing() == Standing::Off || ground + symmetric > 0,
            // Metal keeps off ground planes.
            self.standing() == Standing::Off || symmetric > 0 || self.may_stand_on_ground(),
            self.spread() == Spread::Even || !alone,
            // Plates are metal, and stand next to something if there are to be dielectrics.
            self.shape() != Shape::Plates || (metal && (!dielectric || !alone)),
            self.shape() != Shape::Prism
                || !matches!(self.dielectrics(), Dielectrics::Coat | Dielectrics::Shell),
            !matches!(self.dielectrics(), Dielectrics::Walls | Dielectrics::Covered)
                || matches!(self.shape(), Shape::Boxes | Shape::Plates),
        ];
        needs.iter().all(|&need| need)
    }

    /// The levels' names.
    pub fn names(&self) -> Vec<String> {
        let each = FACTORS.iter().zip(&self.0);
        each.map(|((factor, levels), &level)| format!("{factor}={}", levels[level])).collect()
    }
}

/// How often each pair of levels has been chosen.
pub struct Pairs(Vec<Vec<u32>>);

impl Pairs {
    pub fn new() -> Self {
        Self(vec![Vec::new(); FACTORS.len() * FACTORS.len()])
    }

    fn each(features: &Features, mut act: impl FnMut(usize, usize)) {
        for (a, &i) in features.0.iter().enumerate() {
            for (b, &j) in features.0.iter().enumerate().skip(a + 1) {
                act(a * FACTORS.len() + b, i * FACTORS[b].1.len() + j);
            }
        }
    }

    fn worth(&self, features: &Features) -> f64 {
        let mut worth = 0.0;
        Self::each(features, |pair, levels| {
            let times = self.0[pair].get(levels).copied().unwrap_or(0);
            worth += 1.0 / f64::from((1 + times) * (1 + times));
        });
        worth
    }

    fn count(&mut self, features: &Features) {
        let Self(counts) = self;
        Self::each(features, |pair, levels| {
            let counts = &mut counts[pair];
            counts.resize(counts.len().max(levels + 1), 0);
            counts[levels] += 1;
        });
    }
}

/// The features of the cases of a seed: of some random ones, each time those whose pairs have been
/// rarest so far.
pub fn list(seed: u64, count: usize) -> Vec<Features> {
    let mut pairs = Pairs::new();
    let mut random = Random::new(seed);
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let mut best: Option<(f64, Features)> = None;
        let mut tried = 0;
        while tried < 60 {
            let features = Features::random(&mut random);
            if !features.is_possible() {
                continue;
            }
            tried += 1;
            let worth = pairs.worth(&features);
            if best.as_ref().is_none_or(|(known, _)| worth > *known) {
                best = Some((worth, features));
            }
        }
        let Some((_, features)) = best else { continue };
        pairs.count(&features);
        found.push(features);
    }
    found
}
