//! Requested results beyond the capacitance matrix: values at probes, diffusion, reduced matrices,
//! derivatives, shares of films.

/// Points at which potential and field are wanted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Probe {
    /// Its name in results.
    pub name: String,
    /// Where.
    pub place: ProbePoints,
}

impl Probe {
    /// The probe of this name at these points.
    pub fn new(name: impl Into<String>, place: ProbePoints) -> Self {
        Self { name: name.into(), place }
    }
}

/// Places in the description's unit.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbePoints {
    /// Any points.
    Points(Vec<[f64; 3]>),
    /// Evenly from one end to the other.
    Line {
        /// One end.
        from: [f64; 3],
        /// The other.
        to: [f64; 3],
        /// Points, both ends among them.
        count: usize,
    },
    /// A grid of points along the axes, x fastest; a plane where one count is 1.
    Grid {
        /// The lowest corner.
        low: [f64; 3],
        /// The highest corner.
        high: [f64; 3],
        /// Points along each axis.
        counts: [usize; 3],
    },
}

impl ProbePoints {
    /// How many points there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Points(points) => points.len(),
            Self::Line { count, .. } => *count,
            Self::Grid { counts, .. } => counts.iter().fold(1, |all, n| all.saturating_mul(*n)),
        }
    }

    /// The distance from point to point along each axis of a grid.
    #[must_use]
    pub fn spacing(&self) -> [f64; 3] {
        let Self::Grid { low, high, counts } = self else { return [0.0; 3] };
        std::array::from_fn(|k| match counts[k] {
            0 | 1 => 0.0,
            count => (high[k] - low[k]) / (count - 1) as f64,
        })
    }

    /// All points.
    #[must_use]
    pub fn points(&self) -> Vec<[f64; 3]> {
        match self {
            Self::Points(points) => points.clone(),
            Self::Line { from, to, count } => {
                let at = |i: usize| {
                    let t = i as f64 / count.saturating_sub(1).max(1) as f64;
                    std::array::from_fn(|k| from[k] * (1.0 - t) + to[k] * t)
                };
                (0..*count).map(at).collect()
            }
            Self::Grid { low, counts: [nx, ny, _], .. } => {
                let spacing = self.spacing();
                let at = |i: usize| {
                    let index = [i % nx, i / nx % ny, i / (nx * ny)];
                    std::array::from_fn(|k| low[k] + spacing[k] * index[k] as f64)
                };
                (0..self.count()).map(at).collect()
            }
        }
    }
}

/// A body that diffuses in a liquid, all conductors being its surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffusion {
    /// Kelvin.
    pub temperature: f64,
    /// Pascal seconds.
    pub viscosity: f64,
}

options::options! {
    /// A matrix made from the capacitance matrix. Names may have `*`, which stands for any
    /// characters. A name without one takes precedence over such patterns.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Reduction {
        /// Its name in results.
        name: String = String::new(),
        /// Nets of several conductors at one potential: the name of each, and its conductors. They
        /// are joined first, so that all else names them as one.
        groups: Vec<(String, Vec<String>)> = Vec::new(),
        /// Nets at 0 V.
        grounded: Vec<String> = Vec::new(),
        /// Nets that float without charge.
        floating: Vec<String> = Vec::new(),
        /// The two nets whose capacitance is wanted while all others float without charge, except
        /// for those that are grounded.
        between: Option<[String; 2]> = None,
    }
}

/// A derivative that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Its name in results.
    pub name: String,
    /// By what.
    pub by: Parameter,
}

/// The parameter that changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// The places of these conductors and dielectrics, which are shifted together.
    Shift(Vec<String>),
    /// The relative permittivity of a dielectric, or of the surrounding medium
    /// (`surroundings`).
    Permittivity(String),
    /// The permittivity of a layer: 0 is the half-space below all of them, 1 the lowest layer, and
    /// the last the half-space above all.
    OfLayer(usize),
    /// The thickness of a layer, from 1 on. What is above it moves with it.
    Thickness(usize),
}

options::options! {
    /// A film that is wanted: so thin that it leaves the field as it is.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Film {
        /// Its name in results.
        name: String = String::new(),
        /// Where it is.
        place: Place = Place::On { names: Vec::new(), toward: None },
        /// In the problem's unit.
        thickness: f64 = 0.0,
        /// Relative permittivity of the film.
        relative_permittivity: f64 = 1.0,
        /// Distance from sharp edges within which the field does not count, in the problem's unit.
        cutoff: Option<f64> = None,
    }
}

/// The surfaces that a film covers.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Surfaces of conductors, and surfaces of dielectrics where there is no metal.
    On {
        /// Their names.
        names: Vec<String>,
        /// Only the sides that face this.
        toward: Option<Toward>,
    },
    /// An interface of layers, from 0, the lowest, on, where there is no metal.
    Interface(usize),
}

/// The medium on one side of a surface.
#[derive(Clone, Debug, PartialEq)]
pub enum Toward {
    /// A dielectric, or the surrounding medium ([`crate::SURROUNDINGS`]).
    Medium(String),
    /// A layer: 0 is what is below all of them, 1 the lowest, and the last what is above all.
    Layer(usize),
}
