//! Two atoms that overlap: area and volume of their surfaces, and those of two balls that
//! intersect.
//!
//!     cargo run --release -p farad-surface --example union

#![allow(clippy::print_stdout)] // a program

use std::f64::consts::PI;

use surface::{Atom, Error, Kind, Options, Resolution, molecular};

const RADIUS: f64 = 1.7;
const DISTANCE: f64 = 1.5;
const PROBE: f64 = 1.4;

fn main() -> Result<(), Error> {
    let atoms = [0.0, DISTANCE].map(|x| Atom { centre: [x, 0.0, 0.0], radius: RADIUS });
    for (kind, radius) in [(Kind::VanDerWaals, RADIUS), (Kind::SolventAccessible, RADIUS + PROBE)] {
        let resolution = Resolution::Density(16.0);
        let options = Options::default().kind(kind).probe(PROBE).resolution(resolution);
        let surface = molecular(&atoms, &options)?;
        // Two balls without the caps beyond the plane between them.
        let height = radius - DISTANCE / 2.0;
        let area = 2.0 * (4.0 * PI * radius.powi(2) - 2.0 * PI * radius * height);
        let cap = PI * height.powi(2) * (3.0 * radius - height) / 3.0;
        let volume = 2.0 * (4.0 / 3.0 * PI * radius.powi(3) - cap);
        let part = &surface.info.parts[0];
        println!(
            "{kind:?}: {} triangles, area {:.3} (exactly {area:.3}), volume {:.3} (exactly {volume:.3})",
            part.triangles, part.area, part.volume
        );
        assert!((part.area / area - 1.0).abs() < 1e-2);
        assert!((part.volume / volume - 1.0).abs() < 1e-2);
    }
    Ok(())
}
