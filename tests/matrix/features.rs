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
    /// Where there are ions: nowhere, around all bodies, or in dielectrics too.
    Ions { Absent, Around, Everywhere }
    Density { Constant, Linear }
}

/// The features that cases without ions differ in, and those of cases with ions. All others are at
/// their first level.
const WITHOUT_IONS: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
const WITH_IONS: &[usize] = &[1, 3, 4, 8, 9, 10, 11, 14, 15, 16];

/// A list of cases.
#[derive(Clone, Copy, Debug)]
pub struct List {
    pub seed: u64,
    pub with_ions: bool,
}

impl List {
    /// The features that its cases differ in.
    pub fn varied(self) -> &'static [usize] {
        if self.with_ions { WITH_IONS } else { WITHOUT_IONS }
    }
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
    15, ions, Ions;
    16, density, Density;
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
    fn random(varied: &[usize], random: &mut Random) -> Self {
        let mut levels = vec![0; FACTORS.len()];
        varied.iter().for_each(|&k| levels[k] = random.below(FACTORS[k].1.len()));
        Self(levels)
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

/// How often each pair of levels of some features has been chosen.
pub struct Pairs {
    varied: &'static [usize],
    counts: Vec<Vec<u32>>,
}

impl Pairs {
    pub fn new(varied: &'static [usize]) -> Self {
        Self { varied, counts: vec![Vec::new(); FACTORS.len() * FACTORS.len()] }
    }

    fn each(&self, features: &Features, mut act: impl FnMut(usize, usize)) {
        for (place, &a) in self.varied.iter().enumerate() {
            for &b in &self.varied[place + 1..] {
                let levels = features.0[a] * FACTORS[b].1.len() + features.0[b];
                act(a * FACTORS.len() + b, levels);
            }
        }
    }

    fn worth(&self, features: &Features) -> f64 {
        let mut worth = 0.0;
        self.each(features, |pair, levels| {
            let times = self.counts[pair].get(levels).copied().unwrap_or(0);
            worth += 1.0 / f64::from((1 + times) * (1 + times));
        });
        worth
    }

    fn count(&mut self, features: &Features) {
        let mut all = std::mem::take(&mut self.counts);
        self.each(features, |pair, levels| {
            let counts = &mut all[pair];
            counts.resize(counts.len().max(levels + 1), 0);
            counts[levels] += 1;
        });
        self.counts = all;
    }
}

/// The features of the first cases of a list: of some random ones, each time those whose pairs have
/// been rarest so far.
pub fn list(list: List, count: usize) -> Vec<Features> {
    let varied = list.varied();
    let mut pairs = Pairs::new(varied);
    let mut random = Random::new(list.seed);
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let mut best: Option<(f64, Features)> = None;
        let mut tried = 0;
        while tried < 60 {
            let features = Features::random(varied, &mut random);
            let has_ions = features.ions() != Ions::Absent;
            if has_ions != list.with_ions || !features.is_possible() {
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
