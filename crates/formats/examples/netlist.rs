//! The capacitances of a FastCap list or a PEX25D layout as a SPICE subcircuit.
//!
//!     cargo run --release -p farad-formats --example netlist -- cases/coated_list.lst

#![allow(clippy::print_stdout)] // a program

use std::error::Error;
use std::path::PathBuf;

use farad::{NoProgress, Options, Problem};
use formats::matrices::{Written, spice};
use formats::{fastcap, layout::pex25d};
use mesh::files::load;

/// Couplings below this share of a net's total capacitance are added to ground.
const THRESHOLD: f64 = 1e-3;

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args_os().nth(1).ok_or("name a .lst or .pex25d file")?);
    let (description, mesh) = if pex25d::is_name(&path) {
        let model = pex25d::read(&path, false, load)?;
        (model.description, model.mesh)
    } else {
        let model = fastcap::read(&path, load)?;
        (model.description, model.mesh)
    };
    let names: Vec<String> = description.conductors.iter().map(|net| net.name.clone()).collect();
    let solution = Problem::new(description, mesh)?.solve(&Options::default(), &NoProgress)?;
    let title = path.file_stem().unwrap_or_default().to_string_lossy();
    let maxwell_farad = &solution.matrices().maxwell_farad;
    let written =
        Written { title: &title, reduction: None, mark: "", names: &names, maxwell_farad };
    spice(&mut std::io::stdout(), &written, THRESHOLD)?;
    Ok(())
}
