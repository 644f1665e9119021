mod gds;

use formats::internals::layout::no_surface;
use mesh::prisms::Fault;

/// A layout of one box of a net in a layer, with a film.
const ONE_BOX: &str = "PEX25D 1.0
UNITS LENGTH um GRID 0.001
METAL m1 Z_OFFSETS 1.0 1.4
CONDUCTOR a A
DIELECTRIC_CONFORMAL oxide WRAPS m1 PERMITTIVITY 4.0 \
THICKNESS_OVER_WRAPPED 0.1 THICKNESS_BESIDE_WRAPPED 0.1 THICKNESS_ON_FIELD 0.1
BOX CONDUCTOR a LAYER m1 LL 0.0 0.0 UR 5.0 5.0
";

#[test]
fn shapes_without_a_surface_are_reported_with_their_place_and_what_to_do() {
    let told = |fault| no_surface(ONE_BOX.as_bytes(), fault).unwrap().to_string();
    let coordinate = |prism| Fault::Coordinate { prism, value: 1e64, why: "too large" };
    for (fault, words) in [
        (
            coordinate(0),
            "line 6: this shape of net \"A\" on m1 has a coordinate of 1.000e61 um, which is too large: check its corners, \
             and the heights of its layer",
        ),
        (
            coordinate(1),
            "line 5: the body of a dielectric has a coordinate of 1.000e61 um, which is too large: check the heights and \
             thicknesses of dielectrics, and the size of the domain",
        ),
        (
            Fault::Crossings { at: [2000.0, 1000.0] },
            "line 6: outlines cross too often, or at too small an angle, around (2, 1) um, as that of this shape on m1 \
             does: move its corners by a step of the grid, or leave out what other shapes cover",
        ),
    ] {
        let message = told(fault);
        assert!(message.ends_with(words), "{message}");
    }
}
