//! Potentials on a grid as APBS writes them: OpenDX, for programs that show molecules.

use std::io::{self, Write};

use farad::{LengthUnit, ProbePoints, Probed};

use crate::case::Case;
use crate::report::units::{self, ELEMENTARY_CHARGE};

/// Values on a line.
const ON_A_LINE: usize = 3;

/// Writes the potential on a grid in kT/e, lengths in angstrom. Readers of molecules expect the
/// order and the words that APBS uses, z fastest and three values on a line.
pub(super) fn write(
    out: &mut impl Write,
    case: &Case,
    place: &ProbePoints,
    found: &Probed,
) -> io::Result<()> {
    let &ProbePoints::Grid { low, counts: [nx, ny, nz], .. } = place else { return Ok(()) };
    let angstrom = case.description.unit.metres() / LengthUnit::Angstrom.metres();
    let [x, y, z] = low.map(|x| x * angstrom);
    let [dx, dy, dz] = place.spacing().map(|x| x * angstrom);
    let temperature = case.kelvin();
    let all = nx * ny * nz;
    writeln!(
        out,
        "# Potential in kT/e at {temperature} K, by farad {}",
        env!("CARGO_PKG_VERSION")
    )?;
    writeln!(out, "object 1 class gridpositions counts {nx} {ny} {nz}")?;
    writeln!(out, "origin {x:e} {y:e} {z:e}")?;
    writeln!(out, "delta {dx:e} 0.000000e+00 0.000000e+00")?;
    writeln!(out, "delta 0.000000e+00 {dy:e} 0.000000e+00")?;
    writeln!(out, "delta 0.000000e+00 0.000000e+00 {dz:e}")?;
    writeln!(out, "object 2 class gridconnections counts {nx} {ny} {nz}")?;
    writeln!(out, "object 3 class array type double rank 0 items {all} data follows")?;
    let mut written = 0;
    for i in 0..nx {
        for j in 0..ny {
            for k in 0..nz {
                let volt = found.potential[i + nx * (j + ny * k)];
                let value = units::thermal(volt * ELEMENTARY_CHARGE, temperature);
                written += 1;
                let ends = written % ON_A_LINE == 0 || written == all;
                write!(out, "{value:.6e}{}", if ends { "\n" } else { " " })?;
            }
        }
    }
    writeln!(out, "attribute \"dep\" string \"positions\"")?;
    writeln!(out, "object \"regular positions regular connections\" class field")?;
    writeln!(out, "component \"positions\" value 1")?;
    writeln!(out, "component \"connections\" value 2")?;
    writeln!(out, "component \"data\" value 3")
}
