//! Records, each with what it adds to the layout.

use farad::LengthUnit;
use mesh::files::Error;

use super::super::content::{At, Dielectric, Domain, Extent, Layout, Named, Owner, Shape};
use super::words::Words;

/// The net of conductors that belong to none.
const FLOATING: &str = "FLOATING";

/// Records that say nothing about capacitance.
const WITHOUT_USE: [&str; 2] = ["RESISTANCE", "TERMINAL"];

/// Words that stand inside of records alone.
const CLAUSES: [&str; 21] = [
    "WRAPS",
    "PERMITTIVITY",
    "BETWEEN",
    "CONNECTS",
    "Z_OFFSETS",
    "LAYER",
    "LL",
    "UR",
    "OUTER",
    "HOLE",
    "X",
    "Y",
    "Z",
    "SHEET",
    "PER_CUT",
    "TC1",
    "TC2",
    "KIND",
    "THICKNESS_OVER_WRAPPED",
    "THICKNESS_BESIDE_WRAPPED",
    "THICKNESS_ON_FIELD",
];

/// A layout, and what else its text says.
#[derive(Default)]
pub(super) struct Text {
    pub layout: Layout,
    pub has_background: bool,
    /// Records that were skipped because nothing is known of them.
    pub skipped: Vec<String>,
}

impl Text {
    /// Adds what a record says, which begins with `head`; `rest` has its other words. If this is
    /// `lenient`, records that are not known are skipped.
    pub(super) fn add(
        &mut self,
        head: &str,
        rest: &[String],
        at: At,
        lenient: bool,
    ) -> Result<(), Error> {
        let words = Words { head, rest, at, layout: &self.layout };
        match head {
            "PEX25D" => self.layout.format = version(words)?,
            "UNITS" => {
                let (unit, grid) = units(words)?;
                (self.layout.unit, self.layout.grid) = (Some(unit), grid);
            }
            "META" => {
                if let Some(title) = title(words)? {
                    self.layout.title = Some(title);
                }
            }
            "METAL" => {
                let metal = metal(words)?;
                self.layout.metals.push(metal);
            }
            "GROUND_PLANE" => {
                let plane = metal(words)?;
                self.once(self.layout.ground.is_some(), at, "GROUND_PLANE")?;
                self.layout.ground = Some(plane);
            }
            "VIA" => {
                let via = via(words)?;
                self.layout.vias.push(via);
            }
            "DIELECTRIC_SIMPLE" | "DIELECTRIC_CONFORMAL" => {
                let dielectric = dielectric(words)?;
                self.layout.dielectrics.push(dielectric);
            }
            "DIELECTRIC_BACKGROUND" => {
                let permittivity = background(words)?;
                self.once(self.has_background, at, "DIELECTRIC_BACKGROUND")?;
                (self.has_background, self.layout.background) = (true, permittivity);
            }
            "CONDUCTOR" => {
                let conductor = conductor(words)?;
                let name = &conductor.name;
                let is_known = self.layout.conductors.iter().any(|known| known.name == *name);
                self.once(is_known, at, &format!("CONDUCTOR {name}"))?;
                self.layout.conductors.push(conductor);
            }
            "BOX" | "POLYGON" => {
                let shape = shape(words)?;
                self.layout.shapes.push(shape);
            }
            "DOMAIN_MARGIN" => {
                let margin = margin(words)?;
                // A box wins.
                self.layout.domain.get_or_insert(margin);
            }
            "DOMAIN_BOX" => self.layout.domain = Some(domain(words)?),
            head if WITHOUT_USE.contains(&head) => {}
            head if lenient && !CLAUSES.contains(&head) => self.skipped.push(head.to_owned()),
            _ => return Err(unknown(&words)),
        }
        Ok(())
    }

    /// Refuses what was said before already.
    fn once(&self, is_known: bool, at: At, what: &str) -> Result<(), Error> {
        if is_known {
            let message = format!("there is a {what} already");
            return Err(self.layout.error(at, message));
        }
        Ok(())
    }
}

/// The error of a record that is none.
fn unknown(words: &Words<'_>) -> Error {
    let head = words.head;
    if CLAUSES.contains(&head) {
        return words.refused(format!(
            "{head} stands inside of records only; a \\ at the end of the line before is missing"
        ));
    }
    words.refused(format!(
        "the keyword {head} is not known; records begin with PEX25D, UNITS, META, INCLUDE, GROUND_PLANE, METAL, VIA, \
         DIELECTRIC_SIMPLE, DIELECTRIC_CONFORMAL, DIELECTRIC_BACKGROUND, CONDUCTOR, BOX, POLYGON, TERMINAL, RESISTANCE, \
         DOMAIN_MARGIN or DOMAIN_BOX; read leniently (--lenient), others are skipped"
    ))
}

/// The format and its version.
fn version(mut words: Words<'_>) -> Result<String, Error> {
    let version = words.word("a version")?;
    words.end()?;
    if version.split('.').next() != Some("1") {
        return Err(words.refused(format!("this is version {version}; versions 1.x are read")));
    }
    Ok(format!("PEX25D {version}"))
}

/// The unit of lengths, and the grid in it.
fn units(mut words: Words<'_>) -> Result<(LengthUnit, f64), Error> {
    words.keyword("LENGTH")?;
    let name = words.word("um, nm or m")?;
    let is_known = ["um", "nm", "m"].contains(&name);
    let Some(unit) = LengthUnit::from_name(name).filter(|_| is_known) else {
        return Err(words.unexpected("um, nm or m", Some(name)));
    };
    words.keyword("GRID")?;
    let grid = words.positive("the grid")?;
    words.end()?;
    Ok((unit, grid))
}

/// The name of the layout's cell, if the record has that.
fn title(mut words: Words<'_>) -> Result<Option<String>, Error> {
    let key = words.word("a key")?;
    let value = words.word("a value")?;
    words.end()?;
    Ok((key == "source_cell").then(|| value.to_owned()))
}

/// The heights of a layer of metal or of the ground plane.
fn metal(mut words: Words<'_>) -> Result<Named<[f64; 2]>, Error> {
    let name = words.name("a name")?;
    words.keyword("Z_OFFSETS")?;
    let heights = [words.length("the lower height")?, words.length("the upper height")?];
    words.end()?;
    if heights[0] >= heights[1] {
        let message = format!("{} {name}: the lower height must come first", words.head);
        return Err(words.refused(message));
    }
    Ok(Named { name, at: words.at, value: heights })
}

/// The layers that a via connects.
fn via(mut words: Words<'_>) -> Result<Named<[String; 2]>, Error> {
    let name = words.name("a name")?;
    words.keyword("CONNECTS")?;
    let layers = [words.name("the layer below")?, words.name("the layer above")?];
    words.end()?;
    Ok(Named { name, at: words.at, value: layers })
}

fn dielectric(mut words: Words<'_>) -> Result<Named<Dielectric>, Error> {
    let name = words.name("a name")?;
    words.keyword("WRAPS")?;
    let wraps = Some(words.name("what it wraps")?);
    words.keyword("PERMITTIVITY")?;
    let permittivity = words.positive("the relative permittivity")?;
    let extent = if words.head == "DIELECTRIC_SIMPLE" {
        words.keyword("BETWEEN")?;
        Extent::Between([words.name("the layer below")?, words.name("the layer above")?])
    } else {
        Extent::Film {
            over: words.thickness("THICKNESS_OVER_WRAPPED")?,
            beside: words.thickness("THICKNESS_BESIDE_WRAPPED")?,
            on_field: words.thickness("THICKNESS_ON_FIELD")?,
        }
    };
    words.end()?;
    Ok(Named { name, at: words.at, value: Dielectric { wraps, permittivity, extent } })
}

/// The relative permittivity of what is around all else.
fn background(mut words: Words<'_>) -> Result<f64, Error> {
    words.word("a name")?;
    words.keyword("PERMITTIVITY")?;
    let permittivity = words.positive("the relative permittivity")?;
    words.end()?;
    Ok(permittivity)
}

fn conductor(mut words: Words<'_>) -> Result<Named<Owner>, Error> {
    let name = words.name("a name")?;
    let owner = match words.word("a net, or FLOATING")? {
        FLOATING => Owner::Floating,
        net => Owner::Net(net.to_owned()),
    };
    words.end()?;
    Ok(Named { name, at: words.at, value: owner })
}

fn shape(mut words: Words<'_>) -> Result<Shape, Error> {
    words.keyword("CONDUCTOR")?;
    let conductor = words.name("the name of a CONDUCTOR")?;
    words.keyword("LAYER")?;
    let layer = words.name("the name of a METAL or VIA")?;
    let polygon = match words.head {
        "BOX" => vec![words.rectangle()?],
        _ => words.rings()?,
    };
    Ok(Shape { conductor, layer, polygon, at: words.at })
}

/// How far the domain goes beyond the shapes.
fn margin(mut words: Words<'_>) -> Result<Domain, Error> {
    let mut margin = [0.0; 3];
    for (axis, margin) in ["X", "Y", "Z"].into_iter().zip(&mut margin) {
        words.keyword(axis)?;
        *margin = words.length("a margin")?;
    }
    words.end()?;
    if margin.iter().any(|margin| *margin < 0.0) {
        return Err(words.refused("a margin is negative"));
    }
    Ok(Domain::Margin([margin[0], margin[1]]))
}

/// The domain's walls.
fn domain(mut words: Words<'_>) -> Result<Domain, Error> {
    let mut corners = [[0.0; 3]; 2];
    for (word, corner) in ["LL", "UR"].into_iter().zip(&mut corners) {
        words.keyword(word)?;
        for x in corner {
            *x = words.length("a coordinate")?;
        }
    }
    words.end()?;
    let [[x, y, _], [u, v, _]] = corners;
    if x >= u || y >= v {
        return Err(words.refused("the lower left corner (LL) must come first"));
    }
    Ok(Domain::Box([[x, y], [u, v]]))
}
