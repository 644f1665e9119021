//! The stack file: what the layers of a GDSII file are, and what is around them.

use std::path::{Path, PathBuf};

use mesh::files::{Cause, Error, FormatError, in_file};
use mesh::gmsh::Place;
use serde::Deserialize;
use toml::Spanned;

use super::stream::Layer;

/// Lengths in um beyond this are mistakes.
const LONGEST: f64 = 1e6;

/// What becomes of shapes without a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unlabelled {
    /// They are conductors, and there is a matrix in which they float.
    #[default]
    Floating,
    /// They are conductors like all others.
    Net,
    /// They are conductors, and there is a matrix in which they are at 0 V.
    Ground,
}

/// Whose labels are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelsOf {
    /// Labels of the top cell.
    #[default]
    Top,
    /// Labels of all cells that it refers to, too.
    All,
}

/// Layers such as "68/20", or "68" for all datatypes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a layer such as \"68/20\" or a list of these")]
enum Names {
    One(String),
    Several(Vec<String>),
}

/// A layer, and a datatype or any.
pub type Mask = (i16, Option<i16>);

/// Whether a layer is one of these.
pub(super) fn has(masks: &[Mask], (layer, kind): Layer) -> bool {
    masks.iter().any(|(own, of)| *own == layer && of.is_none_or(|of| of == kind))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    top: Option<String>,
    ground: Option<Spanned<f64>>,
    background: Option<Spanned<f64>>,
    #[serde(default)]
    unlabelled: Unlabelled,
    #[serde(default)]
    labels_of: LabelsOf,
    window: Option<Spanned<[f64; 4]>>,
    margin: Option<Spanned<f64>>,
    #[serde(default)]
    metal: Vec<Spanned<LayerTable>>,
    #[serde(default)]
    via: Vec<Spanned<LayerTable>>,
    #[serde(default)]
    dielectric: Vec<Spanned<DielectricTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerTable {
    name: String,
    gds: Spanned<Names>,
    labels: Option<Spanned<Names>>,
    connects: Option<[String; 2]>,
    from: Option<Spanned<f64>>,
    to: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DielectricTable {
    name: String,
    relative_permittivity: Spanned<f64>,
    from: Option<Spanned<f64>>,
    to: Option<Spanned<f64>>,
    wraps: Option<Spanned<String>>,
    over: Option<Spanned<f64>>,
    beside: Option<Spanned<f64>>,
    on_field: Option<Spanned<f64>>,
}

/// Where a layer is.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// Between heights in um.
    Heights([f64; 2]),
    /// From the top of one layer to the bottom of another.
    Connects([String; 2]),
}

/// A metal or a via.
#[derive(Clone, Debug, PartialEq)]
pub struct StackLayer {
    pub name: String,
    pub line: usize,
    pub gds: Vec<Mask>,
    pub labels: Vec<Mask>,
    pub span: Span,
}

/// Lengths in um.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    Heights([f64; 2]),
    Film { wraps: String, over: f64, beside: f64, on_field: f64 },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Dielectric {
    pub name: String,
    pub line: usize,
    pub permittivity: f64,
    pub extent: Extent,
}

/// The content of a stack file; lengths in um.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    pub path: PathBuf,
    pub top: Option<String>,
    /// The height of the ground plane, and its line.
    pub ground: Option<(f64, usize)>,
    pub background: f64,
    pub unlabelled: Unlabelled,
    pub labels_of: LabelsOf,
    pub window: Option<[f64; 4]>,
    pub margin: Option<f64>,
    /// Metals, then vias.
    pub layers: Vec<StackLayer>,
    pub dielectrics: Vec<Dielectric>,
}

impl Stack {
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let source = Source { path, bytes };
        let text = std::str::from_utf8(bytes)
            .map_err(|error| source.error(error.valid_up_to(), "the text is not UTF-8"))?;
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let help = if error.message().starts_with("unknown field") {
                "; docs/user-guide.md has all keys"
            } else {
                ""
            };
            source.error(at, format!("{}{help}", error.message()))
        })?;
        source.stack(file)
    }
}

/// The text, for errors.
struct Source<'a> {
    path: &'a Path,
    bytes: &'a [u8],
}

impl Source<'_> {
    fn line(&self, at: usize) -> usize {
        let before = &self.bytes[..at.min(self.bytes.len())];
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Error {
        let place = Place::Line(self.line(at));
        in_file(self.path)(FormatError { place, cause: Cause::Other(message.into()) })
    }

    fn stack(&self, file: File) -> Result<Stack, Error> {
        let background = match &file.background {
            Some(own) => self.positive("background", own)?,
            None => 1.0,
        };
        let margin = file.margin.as_ref().map(|own| self.length("margin", own)).transpose()?;
        if let (Some(own), Some(margin)) = (&file.margin, margin)
            && margin < 0.0
        {
            return Err(self.error(own.span().start, "margin is negative"));
        }
        if let Some(window) = &file.window {
            let [x, y, u, v] = *window.get_ref();
            let is_long = |x: &f64| x.is_nan() || x.abs() > LONGEST;
            if window.get_ref().iter().any(is_long) || x >= u || y >= v {
                let message =
                    "window is [x, y of the lower left corner, x, y of the upper right one] in um";
                return Err(self.error(window.span().start, message));
            }
        }
        let mut layers = Vec::new();
        for table in &file.metal {
            let layer = self.layer(table, "metal")?;
            if table.get_ref().connects.is_some() {
                let message = format!(
                    "the metal {} has `connects`, which is for vias: give its heights, `from` and `to`",
                    layer.name
                );
                return Err(self.error(table.span().start, message));
            }
            layers.push(layer);
        }
        for table in &file.via {
            layers.push(self.layer(table, "via")?);
        }
        if layers.is_empty() {
            let message = "there is no [[metal]] in it, so no layer is known";
            return Err(self.error(0, message));
        }
        for (k, layer) in layers.iter().enumerate() {
            let of = |other: &&StackLayer| other.gds.iter().any(|mask| layer.gds.contains(mask));
            if let Some(former) = layers[..k].iter().find(of) {
                let message = format!(
                    "{} and {} are made of the same layer of the file: one of them is enough, or they have different datatypes",
                    former.name, layer.name
                );
                return Err(self.on_line(layer.line, message));
            }
        }
        let dielectrics: Result<Vec<Dielectric>, Error> =
            file.dielectric.iter().map(|table| self.dielectric(table)).collect();
        let dielectrics = dielectrics?;
        for (dielectric, table) in dielectrics.iter().zip(&file.dielectric) {
            let Extent::Film { wraps, .. } = &dielectric.extent else { continue };
            let is_film =
                |of: &Dielectric| of.name == *wraps && matches!(of.extent, Extent::Film { .. });
            let is_layer = layers.iter().any(|layer| layer.name == *wraps);
            if !is_layer && !dielectrics.iter().any(is_film) {
                let message = format!(
                    "the film {} wraps {wraps}, which is no metal, no via and no film",
                    dielectric.name
                );
                return Err(self.error(table.span().start, message));
            }
        }
        let ground = match &file.ground {
            Some(own) => Some((self.length("ground", own)?, self.line(own.span().start))),
            None => None,
        };
        Ok(Stack {
            path: self.path.to_path_buf(),
            top: file.top,
            ground,
            background,
            unlabelled: file.unlabelled,
            labels_of: file.labels_of,
            window: file.window.map(Spanned::into_inner),
            margin,
            layers,
            dielectrics,
        })
    }

    fn on_line(&self, line: usize, message: String) -> Error {
        in_file(self.path)(Cause::Other(message).on_line(line))
    }

    fn layer(&self, of: &Spanned<LayerTable>, kind: &str) -> Result<StackLayer, Error> {
        let (at, of) = (of.span().start, of.get_ref());
        if of.name.is_empty() {
            return Err(self.error(at, "the name is empty"));
        }
        let line = self.line(at);
        let span = match (&of.connects, &of.from, &of.to) {
            (Some(names), None, None) => Span::Connects(names.clone()),
            (None, Some(from), Some(to)) => Span::Heights(self.heights(from, to)?),
            _ => {
                let message = if kind == "via" {
                    format!(
                        "the via {} needs `connects = [\"below\", \"above\"]`, or `from` and `to`",
                        of.name
                    )
                } else {
                    format!("the metal {} needs `from` and `to`, its heights in um", of.name)
                };
                return Err(self.error(at, message));
            }
        };
        let gds = self.masks(&of.gds)?;
        let labels = match &of.labels {
            Some(labels) => self.masks(labels)?,
            None if kind == "metal" => gds.iter().map(|(layer, _)| (*layer, None)).collect(),
            None => Vec::new(),
        };
        Ok(StackLayer { name: of.name.clone(), line, gds, labels, span })
    }

    fn masks(&self, names: &Spanned<Names>) -> Result<Vec<Mask>, Error> {
        let all = match names.get_ref() {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names.as_slice(),
        };
        let mask = |name: &String| -> Option<Mask> {
            match name.split_once('/') {
                Some((layer, kind)) => {
                    Some((layer.trim().parse().ok()?, Some(kind.trim().parse().ok()?)))
                }
                None => Some((name.trim().parse().ok()?, None)),
            }
        };
        let masks: Result<Vec<Mask>, Error> = all
            .iter()
            .map(|name| {
                mask(name).ok_or_else(|| {
                    let message = format!(
                        "\"{name}\" is no layer; layers are written as \"68/20\" (layer and datatype), or \"68\" for all datatypes"
                    );
                    self.error(names.span().start, message)
                })
            })
            .collect();
        masks
    }

    fn dielectric(&self, of: &Spanned<DielectricTable>) -> Result<Dielectric, Error> {
        let (at, of) = (of.span().start, of.get_ref());
        if of.name.is_empty() {
            return Err(self.error(at, "the name is empty"));
        }
        let permittivity = self.positive("relative_permittivity", &of.relative_permittivity)?;
        let has_film = of.over.is_some() || of.beside.is_some() || of.on_field.is_some();
        let extent = match (&of.from, &of.to, &of.wraps) {
            (Some(from), Some(to), None) if !has_film => Extent::Heights(self.heights(from, to)?),
            (None, None, Some(wraps)) => {
                let thickness = |name: &str, own: &Option<Spanned<f64>>| {
                    let Some(own) = own else { return Ok(0.0) };
                    match self.length(name, own)? {
                        low if low < 0.0 => {
                            Err(self.error(own.span().start, format!("{name} is negative")))
                        }
                        thickness => Ok(thickness),
                    }
                };
                Extent::Film {
                    wraps: wraps.get_ref().clone(),
                    over: thickness("over", &of.over)?,
                    beside: thickness("beside", &of.beside)?,
                    on_field: thickness("on_field", &of.on_field)?,
                }
            }
            _ => {
                let message = format!(
                    "the dielectric {} needs either `from` and `to`, or `wraps` with `over`, `beside` and `on_field`",
                    of.name
                );
                return Err(self.error(at, message));
            }
        };
        Ok(Dielectric { name: of.name.clone(), line: self.line(at), permittivity, extent })
    }

    fn heights(&self, from: &Spanned<f64>, to: &Spanned<f64>) -> Result<[f64; 2], Error> {
        let heights = [self.length("from", from)?, self.length("to", to)?];
        if heights[0] >= heights[1] {
            let message =
                format!("`from` is {}, `to` is {}: it must be higher", heights[0], heights[1]);
            return Err(self.error(to.span().start, message));
        }
        Ok(heights)
    }

    fn length(&self, name: &str, own: &Spanned<f64>) -> Result<f64, Error> {
        let value = *own.get_ref();
        if value.is_nan() || value.abs() > LONGEST {
            let message = format!("{name} is {value}; lengths are in um, and at most {LONGEST:e}");
            return Err(self.error(own.span().start, message));
        }
        Ok(value + 0.0)
    }

    fn positive(&self, name: &str, own: &Spanned<f64>) -> Result<f64, Error> {
        let value = *own.get_ref();
        if !(1e-12..=1e12).contains(&value) {
            let message = format!("{name} is {value}; it must be from 1e-12 to 1e12");
            return Err(self.error(own.span().start, message));
        }
        Ok(value)
    }
}
