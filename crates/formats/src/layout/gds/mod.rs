//! GDSII files as layouts: shapes of cells, with a stack file that says what their layers are.
//!
//! `stream` reads records, `flatten` follows references, `nets` finds which shapes are connected,
//! and `stack` reads the stack file. The reader is our own because released crates give no place in
//! the file for what is wrong with its structure, or are not MIT or Apache. `docs/user-guide.md`
//! has the keys of stack files.
//!
//! ```no_run
//! use farad::{Options, Problem, NoProgress};
//! use formats::layout::gds;
//! use mesh::files;
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (layout, stack) = (Path::new("inverter.gds"), Path::new("process.toml"));
//! let model = gds::read(layout, stack, false, files::load)?;
//! let problem = Problem::new(model.description, model.mesh)?;
//! let solution = problem.solve(&Options::default(), &NoProgress)?;
//! println!("{:?}", solution.matrices().maxwell_farad);
//! # Ok(())
//! # }
//! ```

#[allow(missing_docs)] // only `internals` shows it, as all of these
pub(crate) mod flatten;
#[allow(missing_docs)]
pub(crate) mod nets;
pub(crate) mod path;
#[allow(missing_docs)]
pub(crate) mod stack;
#[allow(missing_docs)]
pub(crate) mod stream;

use std::path::Path;

use mesh::files::{Error, in_file};
use mesh::gmsh::Place as Where;
use mesh::outlines::{Region, bounds, intersection, union};
use mesh::prisms::Point;

use super::content::{At, Dielectric, Domain, Extent, Layout, Named, Owner, Shape, whole};
use super::{Model, scene};
use farad::LengthUnit;
use flatten::Flat;
use nets::{Net, Nets, Short};
use stack::{LabelsOf, Span, Stack, Unlabelled};
use stream::{Label, Layer, Library};

/// Items of a kind that a note names at most.
const SHOWN: usize = 8;

/// Where the layout and the stack file are among the files.
const LAYOUT: usize = 0;
const STACK: usize = 1;

/// Whether the name ends in .gds, .gds2 or .gdsii.
pub fn is_name(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["gds", "gds2", "gdsii"].iter().any(|own| ending.eq_ignore_ascii_case(own))
}

/// Reads a GDSII file and the stack file that says what its layers are; `load` gets the bytes of
/// both, [`mesh::files::load`] from the disk. If this is `lenient`, nets with labels of different
/// names and references to cells that are not there are notes. The mesh is in micrometres.
///
/// # Errors
/// Errors of `load`; [`Error::Format`], with the byte of the layout or the line of the stack file,
/// what is wrong and what to do.
pub fn read(
    path: &Path,
    stack: &Path,
    lenient: bool,
    mut load: impl FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    read_with(path, stack, lenient, &mut load)
}

fn read_with(
    path: &Path,
    stack: &Path,
    lenient: bool,
    load: &mut dyn FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    let stack = Stack::parse(stack, &load(stack)?)?;
    let library = Library::parse(&load(path)?).map_err(in_file(path))?;
    let top = flatten::top(&library, stack.top.as_deref()).map_err(in_file(path))?;
    let unit = library.unit;
    let steps = |um: f64| um * 1e-6 / unit;
    let window = stack
        .window
        .map(|[x, y, u, v]| [[x, y], [u, v]].map(|corner| corner.map(|um| steps(um).round())));
    let has_all = stack.labels_of == LabelsOf::All;
    let flat = flatten::flatten(&library, top, window, has_all).map_err(in_file(path))?;
    let mut layout = Layout {
        files: vec![path.to_path_buf(), stack.path.clone()],
        format: format!("GDSII, version {}", library.version),
        unit: Some(LengthUnit::Micrometre),
        grid: unit * 1e6,
        title: Some(library.cells[top].name.clone()),
        background: stack.background,
        domain: stack.margin.map(|um| Domain::Margin([steps(um); 2])),
        domain_said_by: "`margin` in the stack file says",
        ..Layout::default()
    };
    add_stack(&mut layout, &stack, steps);
    let reader = Reader { stack: &stack, library: &library, lenient };
    reader.add_shapes(&mut layout, flat, window)?;
    Model::new(layout)
}

fn on_line(line: usize) -> At {
    At { file: STACK, place: Where::Line(line) }
}

/// Adds the layers of the stack file.
fn add_stack(layout: &mut Layout, stack: &Stack, steps: impl Fn(f64) -> f64) {
    let height = |um: f64| whole(steps(um));
    if let Some((at, line)) = stack.ground {
        // Nothing has the name that no key can give.
        let value = [height(at) - 1.0, height(at)];
        layout.ground = Some(Named { name: String::new(), at: on_line(line), value });
    }
    for layer in &stack.layers {
        let (name, at) = (layer.name.clone(), on_line(layer.line));
        match &layer.span {
            Span::Heights(um) => layout.metals.push(Named { name, at, value: um.map(height) }),
            Span::Connects(names) => layout.vias.push(Named { name, at, value: names.clone() }),
        }
    }
    for dielectric in &stack.dielectrics {
        let (wraps, extent) = match &dielectric.extent {
            stack::Extent::Heights(um) => (None, Extent::Heights(um.map(height))),
            stack::Extent::Film { wraps, over, beside, on_field } => {
                let [over, beside, on_field] = [*over, *beside, *on_field].map(height);
                (Some(wraps.clone()), Extent::Film { over, beside, on_field })
            }
        };
        let value = Dielectric { wraps, permittivity: dielectric.permittivity, extent };
        let (name, at) = (dielectric.name.clone(), on_line(dielectric.line));
        layout.dielectrics.push(Named { name, at, value });
    }
}

struct Reader<'a> {
    stack: &'a Stack,
    library: &'a Library,
    lenient: bool,
}

impl Reader<'_> {
    /// Adds the nets and their shapes, and notes on omitted ones.
    fn add_shapes(
        &self,
        layout: &mut Layout,
        mut flat: Flat,
        window: Option<[Point; 2]>,
    ) -> Result<(), Error> {
        let layers = &self.stack.layers;
        let of_name = scene::layers(layout)?;
        let heights: Vec<[f64; 2]> = layers.iter().map(|layer| of_name[&layer.name]).collect();
        self.note_missing(layout, &flat)?;
        let mut pieces = Vec::new();
        let present: Vec<Layer> = flat.shapes.keys().copied().collect();
        for (k, layer) in layers.iter().enumerate() {
            let is_own = |of: &&Layer| self.layer_of(**of) == Some(k);
            let own = present.iter().filter(is_own).filter_map(|of| flat.shapes.remove(of));
            let own: Region = own.flatten().collect();
            if own.is_empty() {
                continue;
            }
            let mut region = union(&own);
            if let Some(window) = window {
                region = clipped(region, window);
            }
            tracing::debug!("{}: {} polygons of {}", layer.name, region.len(), own.len());
            pieces.extend(nets::pieces(k, region));
        }
        let left: Vec<String> = flat
            .shapes
            .iter()
            .map(|((layer, kind), shapes)| format!("{layer}/{kind} ({})", shapes.len()))
            .collect();
        if pieces.is_empty() {
            return Err(self.nothing(layout, &present, window.is_some()));
        }
        if !left.is_empty() {
            layout.notes.push(format!(
                "layers that the stack file does not name are left out, with their shapes: {}",
                listed(&left)
            ));
        }
        if flat.lines > 0 {
            let message = format!("paths without width are left out: {}", flat.lines);
            layout.notes.push(message);
        }
        let in_window = |label: &Label| {
            window.is_none_or(|[low, high]| {
                (0..2).all(|k| low[k] <= label.position[k] && high[k] >= label.position[k])
            })
        };
        flat.labels.retain(in_window);
        let Nets { nets, shorts, astray } = nets::nets(&pieces, &flat.labels, layers, &heights);
        self.note_shorts(layout, &shorts)?;
        self.note_nets(layout, &nets, &astray);
        for net in nets {
            let value = match (net.has_label, self.stack.unlabelled) {
                (true, _) | (_, Unlabelled::Net) => Owner::Net(net.name.clone()),
                (_, Unlabelled::Floating) => Owner::Floating,
                (_, Unlabelled::Ground) => Owner::Grounded,
            };
            for &piece in &net.pieces {
                let layer = &layers[pieces[piece].layer];
                layout.shapes.push(Shape {
                    conductor: net.name.clone(),
                    layer: layer.name.clone(),
                    polygon: std::mem::take(&mut pieces[piece].polygon),
                    at: on_line(layer.line),
                });
            }
            let at = At { file: LAYOUT, place: Where::Byte(0) };
            layout.conductors.push(Named { name: net.name, at, value });
        }
        Ok(())
    }

    /// The metal or via that a layer of the file belongs to: one that names its datatype, else one
    /// of all datatypes.
    fn layer_of(&self, of: Layer) -> Option<usize> {
        let position = |is: &dyn Fn(&stack::Mask) -> bool| {
            self.stack.layers.iter().position(|layer| layer.gds.iter().any(is))
        };
        position(&|mask| *mask == (of.0, Some(of.1)))
            .or_else(|| position(&|mask| *mask == (of.0, None)))
    }

    fn place(&self, at: Point) -> String {
        // To a picometre.
        let um = at.map(|steps| (steps * self.library.unit * 1e12).round() / 1e6);
        format!("({}, {}) um", um[0], um[1])
    }

    fn nothing(&self, layout: &Layout, present: &[Layer], has_window: bool) -> Error {
        let known = present.iter().any(|of| self.layer_of(*of).is_some());
        let message = if has_window && known {
            "no shape on the layers of the stack file reaches into its `window`".to_owned()
        } else {
            let all: Vec<String> =
                present.iter().map(|(layer, kind)| format!("{layer}/{kind}")).collect();
            let own: Vec<String> = self
                .stack
                .layers
                .iter()
                .flat_map(|layer| &layer.gds)
                .map(|(layer, kind)| match kind {
                    Some(kind) => format!("{layer}/{kind}"),
                    None => layer.to_string(),
                })
                .collect();
            format!(
                "no shape of the cell \"{}\" is on a layer of the stack file ({}): the cell has {}",
                layout.title.as_deref().unwrap_or_default(),
                listed(&own),
                if all.is_empty() { "no shapes".to_owned() } else { listed(&all) }
            )
        };
        layout.error(At { file: LAYOUT, place: Where::Byte(0) }, message)
    }

    fn note_missing(&self, layout: &mut Layout, flat: &Flat) -> Result<(), Error> {
        let Some(first) = flat.missing.first() else { return Ok(()) };
        let cells = self.library.cells.iter();
        let at = cells.flat_map(|cell| &cell.references).find(|of| of.cell == *first);
        let names: Vec<String> = flat.missing.iter().map(|name| format!("\"{name}\"")).collect();
        let message = format!("cells that are referred to are not in the file: {}", listed(&names));
        if self.lenient {
            layout.notes.push(message);
            return Ok(());
        }
        let place = Where::Byte(at.map_or(0, |of| of.at));
        let message = format!("{message}; add their library, or leave them out with --lenient");
        Err(layout.error(At { file: LAYOUT, place }, message))
    }

    fn note_shorts(&self, layout: &mut Layout, shorts: &[Short]) -> Result<(), Error> {
        for Short { labels: [one, other] } in shorts {
            let message = format!(
                "one net has the labels \"{}\" at {} and \"{}\" at {}",
                one.text,
                self.place(one.position),
                other.text,
                self.place(other.position)
            );
            if self.lenient {
                layout.notes.push(format!("{message}: it is called \"{}\"", one.text));
                continue;
            }
            let message = format!(
                "{message}: find the shape that joins them, or remove a label; with --lenient the first one is its name"
            );
            let at = At { file: LAYOUT, place: Where::Byte(other.at) };
            return Err(layout.error(at, message));
        }
        Ok(())
    }

    fn note_nets(&self, layout: &mut Layout, nets: &[Net], astray: &[(Label, usize)]) {
        let of = |(label, layer): &(Label, usize)| {
            let layer = &self.stack.layers[*layer].name;
            format!("\"{}\" at {} ({layer})", label.text, self.place(label.position))
        };
        if !astray.is_empty() {
            let all: Vec<String> = astray.iter().map(of).collect();
            let message =
                format!("labels with no shape of their layer under them: {}", listed(&all));
            layout.notes.push(message);
        }
        let parted = nets.iter().filter(|net| net.has_label && net.parts > 1);
        let parted: Vec<String> =
            parted.map(|net| format!("\"{}\" ({} parts)", net.name, net.parts)).collect();
        if !parted.is_empty() {
            layout.notes.push(format!(
                "parts that do not touch are one net because their labels are the same: {}",
                listed(&parted)
            ));
        }
        let without = nets.iter().filter(|net| !net.has_label).count();
        if without == 0 {
            return;
        }
        let what = match self.stack.unlabelled {
            _ if without == nets.len() => "all are conductors of the matrix",
            Unlabelled::Floating => "they float in the matrix without_floating",
            Unlabelled::Net => "they are conductors like all others",
            Unlabelled::Ground => "they are at 0 V in the matrix without_grounded",
        };
        layout.notes.push(format!("nets without a label: {without}; {what}"));
    }
}

/// What is inside of a window. Of the window no more is used than matters: what is far off would
/// cost digits.
fn clipped(region: Region, [low, high]: [Point; 2]) -> Region {
    let [l, h] = bounds(region.iter().flatten().flatten());
    let [x, y] = [0, 1].map(|k| low[k].max(l[k] - 1.0));
    let [u, v] = [0, 1].map(|k| high[k].min(h[k] + 1.0));
    if x >= u || y >= v {
        return Region::new();
    }
    intersection(&region, &vec![vec![vec![[x, y], [u, y], [u, v], [x, v]]]])
}

/// The first of these, and how many more there are.
fn listed(all: &[String]) -> String {
    let more = all.len().saturating_sub(SHOWN);
    let shown = all[..all.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
