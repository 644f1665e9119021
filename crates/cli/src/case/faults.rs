//! The library's faults in the terms of a case file, at their places in it.

use std::ops::Range;

use farad::{
    Atom, ChargeFault, Description, Error, Fault, Misplaced, Note, PlaneFault, StackFault,
};
use formats::atoms::Grown;
use mesh::{conductors, mirror, regions};
use surface::Kind;

use super::definition::Case;
use super::diagnostics::{Defect, MOST_SHOWN, Sort, meant, nearest, quoted};

use super::places::{Entry, Places};
use super::tables::molecule::Molecule;
use super::tables::reduce;
use crate::report::units;
use crate::surfaces::fastcap_model;
use crate::terminal::exit::{Exit, Failure};

/// Advice for atoms that their own surface does not enclose.
const MADE: &str = "check their radii, which are in angstrom; small atoms on their own need more triangles (`density`)";

/// Advice for molecules that go through each other.
const MERGE: &str = "one molecule has one surface: merge the PQR files (`cat a.pqr b.pqr > both.pqr`), or move the molecules apart; \
                     a surface \"vdw\" takes less room than \"ses\", and that less than \"sas\"";

/// Atoms at fault that are named.
const NAMED: usize = 5;

impl Case {
    /// The failure that shows `error`, at its places in the file where it has any.
    pub(crate) fn failed(&self, error: Error) -> Failure {
        failure(self, error)
    }
}

fn failure(case: &Case, error: Error) -> Failure {
    let faults = match error {
        Error::Faults(faults) => faults,
        Error::Solve(error) => return error.into(),
        Error::Probes { points, needed, available } => {
            return Failure::with_help(
                Exit::Memory,
                format!(
                    "values at {} points of probes needs {}, more than the {} that may be used",
                    units::count(points as u64),
                    units::bytes(needed),
                    units::bytes(available)
                ),
                "ask for fewer points, or raise --memory-limit",
            );
        }
        error @ Error::Ions => return Failure::new(Exit::Usage, error),
        error @ Error::Accuracy(_) => {
            return Failure::with_help(
                Exit::BadInput,
                error.to_string(),
                "see \"[solver]\" in docs/case-file.md",
            );
        }
    };
    if let Some(failure) = faults.iter().find_map(|fault| of_molecules(case, fault)) {
        return failure;
    }
    if let Some(failure) = faults.iter().find_map(|fault| of_mesh(case, fault)) {
        return failure;
    }
    // Nets of the command line have no place in the file.
    let of_nets = faults.iter().find_map(|fault| match fault {
        Fault::UnknownNet { name, available, .. } if case.places.nets.is_empty() => {
            Some((format!("--nets: {fault}"), meant(name, available)))
        }
        _ => None,
    });
    if let Some((message, help)) = of_nets {
        return Failure::with_help(Exit::BadInput, message, help);
    }
    let defect = |(index, fault): (usize, &Fault)| {
        defect(&case.description, &case.places, fault, index < MOST_SHOWN)
    };
    case.failure(faults.iter().enumerate().map(defect).collect())
}

/// The failure for what is a matter of the mesh alone.
fn of_mesh(case: &Case, fault: &Fault) -> Option<Failure> {
    let file = case.surfaces();
    let regardless = if case.is_list() {
        "solve it as it is with --lenient"
    } else {
        "solve it as it is with lenient = true in [mesh]"
    };
    let (message, help) = match fault {
        Fault::Mesh(_) => {
            (format!("{file}: {fault}"), "check the mesh with `farad mesh check`".to_owned())
        }
        Fault::Defects(defects) => (
            format!("the mesh {file} cannot be solved on:\n{defects}"),
            format!("`farad mesh repair {file} -o NEW.msh` repairs it; `farad mesh check {file}` writes the triangles to a VTK file"),
        ),
        Fault::Crossing { only_curved: true, .. } if case.smooth.is_some() => (
            format!("in {file}, made curved by [mesh] smooth, {fault}"),
            "use a finer mesh where they are close, or leave out `smooth`".to_owned(),
        ),
        Fault::Crossing { .. } => (
            format!("in {file}, {fault}"),
            format!(
                "move them apart, make them one conductor, or mesh them as one body: `farad mesh repair {file} -o NEW.msh` \
                 unites what goes through each other; `farad mesh check {file}` writes the triangles to a VTK file; or \
                 {regardless}"
            ),
        ),
        Fault::Touching(_) if case.is_list() => (
            format!("in {file}, {fault}"),
            format!("leave a gap between them, or make them one conductor: join their lines by + and give both one name; or {regardless}"),
        ),
        Fault::Touching(_) => (
            format!("in {file}, {fault}"),
            format!("leave a gap between them, or make them one conductor: group = [\"a\", \"b\"]; or {regardless}"),
        ),
        Fault::Contradiction { .. } if case.is_list() => (
            format!("in {file}, {fault}"),
            format!(
                "check permittivities and reference points there: the reference point of a line lies on the outer side of all its \
                 panels, or with a - behind it on the inner side; or {regardless}"
            ),
        ),
        Fault::TooFine(_) => (
            format!("{file}: {fault}"),
            "charges lie very close to the surface, compared with its triangles; use a finer mesh or move them".to_owned(),
        ),
        _ => return None,
    };
    Some(Failure::with_help(Exit::BadInput, message + &panels(case, fault), help))
}

/// The failure for surfaces of molecules that go through each other or through others.
fn of_molecules(case: &Case, fault: &Fault) -> Option<Failure> {
    let Fault::Crossing { first: [(_, a), (_, b)], .. } = fault else { return None };
    let place = |name: &str| {
        let of =
            |molecule: &&Molecule| case.description.dielectrics[molecule.dielectric].name == *name;
        let molecule = case.molecules.iter().find(of)?;
        Some(case.places.dielectrics[molecule.dielectric].name.clone())
    };
    let message = format!("the surfaces of \"{a}\" and \"{b}\" go through each other");
    let defect = match (place(a), place(b)) {
        (Some(a), Some(b)) => {
            let (first, second) = if a.start < b.start { (a, b) } else { (b, a) };
            Defect::new(Sort::Value, second, message).label("and here").first(first).help(MERGE)
        }
        (Some(place), None) | (None, Some(place)) => Defect::new(Sort::Value, place, message)
            .help("move them apart, or leave one of them out"),
        (None, None) => return None,
    };
    Some(case.failure(vec![defect]))
}

impl Case {
    /// Refuses molecules of which one has atoms inside of the other's.
    pub(super) fn check_overlaps(&self) -> Result<(), Failure> {
        for (k, second) in self.molecules.iter().enumerate() {
            for first in &self.molecules[..k] {
                let [a, b] = [first.dielectric, second.dielectric];
                let grown = |molecule: &Molecule| {
                    let is_larger = molecule.options.kind == Kind::SolventAccessible;
                    let margin = if is_larger { molecule.options.probe } else { 0.0 };
                    let margin = molecule.stern.map_or(margin, |stern| stern.thickness.max(margin));
                    Grown { atoms: &self.atoms[molecule.dielectric], margin }
                };
                let found = formats::atoms::overlap(grown(first), grown(second));
                let Some((i, j)) = found else { continue };
                let named = |of: usize, atom: usize| {
                    let name = &self.description.dielectrics[of].name;
                    format!(
                        "\"{name}\" ({})",
                        formats::atoms::named(std::iter::once(&self.atoms[of][atom]))
                    )
                };
                let message = format!(
                    "atoms of {} and of {} overlap: the surfaces go through each other",
                    named(a, i),
                    named(b, j)
                );
                let places = [a, b].map(|of| self.places.dielectrics[of].name.clone());
                let [first, second] = places;
                let defect = Defect::new(Sort::Value, second, message).label("and here");
                return Err(self.failure(vec![defect.first(first).help(MERGE)]));
            }
        }
        Ok(())
    }

    /// The failure for a molecule whose name a group of the mesh's file has.
    pub(super) fn group_exists(&self, dielectric: usize) -> Failure {
        let name = &self.description.dielectrics[dielectric].name;
        let message = format!("{} has a group \"{name}\" already", self.surfaces());
        let place = self.places.dielectrics[dielectric].name.clone();
        let help =
            "the surface of a molecule is a group of its name: choose another one with `name`";
        self.failure(vec![Defect::new(Sort::Value, place, message).help(help)])
    }
}

/// Where the panels of the triangles stand that a fault names, in files of FastCap.
fn panels(case: &Case, fault: &Fault) -> String {
    let triangles = fault.triangles();
    let list = case.mesh.as_deref().filter(|mesh| formats::fastcap::is_name(mesh));
    let (Some(list), false) = (list, triangles.is_empty()) else { return String::new() };
    let Ok(model) = fastcap_model(list, case.description.lenient, &|path| case.known.load(path))
    else {
        return String::new();
    };
    let place = |&t: &usize| Some(format!("triangle {t} is of {}", model.place_of(t)?));
    let places: Vec<String> = triangles.iter().filter_map(place).collect();
    format!("\n{}", places.join(", "))
}

/// A fault as a defect of the case file; with suggestions only if it is to be shown.
pub(super) fn defect(
    description: &Description,
    places: &Places,
    fault: &Fault,
    is_shown: bool,
) -> Defect {
    let mesh = &places.mesh;
    let at =
        |place: &Range<usize>, message: String| Defect::new(Sort::Value, place.clone(), message);
    let message = fault.to_string();
    match fault {
        Fault::Conductors(problem) => {
            let defect = at(of_conductors(description, places, problem), message);
            match problem {
                conductors::Error::Unclaimed { .. } if description.has_media() => defect.help(
                    "if it is an interface between media, the [[dielectric]] that it bounds must list its group",
                ),
                _ => defect,
            }
        }
        Fault::UnknownGroup { interface, group, available } => {
            let place = places.interfaces().nth(*interface).unwrap_or(mesh);
            let defect = at(place, message).label("not there");
            if !is_shown {
                return defect;
            }
            let names = available.iter().map(String::as_str);
            match nearest(group, names.clone()) {
                Some(near) => defect.help(format!("did you mean \"{near}\"?")),
                None => defect.help(format!("it has {}", quoted(names))),
            }
        }
        Fault::Plane { plane, name, problem } => {
            let is_ground = description.planes[*plane].odd;
            of_plane(&places.planes[*plane], is_ground, name, *problem, message)
        }
        Fault::Charge { charge, problem } => {
            at(&places.charges[*charge], message).help(match problem {
                ChargeFault::InGround(_) | ChargeFault::Beyond(_) => {
                    "images of charges are made by the program"
                }
                ChargeFault::OnDielectric => "move it to either side",
                ChargeFault::OnSurface(_) => "its energy would have no bound; move it off",
            })
        }
        Fault::UnknownNet { net, name, available } => {
            let defect = at(places.nets.get(*net).unwrap_or(mesh), message).label("not there");
            if is_shown { defect.help(meant(name, available)) } else { defect }
        }
        Fault::Reduction { reduction, problem, .. } => {
            reduce::defect(&places.reductions[*reduction], problem, message, is_shown)
        }
        Fault::Sensitivity { sensitivity, .. } => at(&places.sensitivities[*sensitivity], message),
        Fault::Film { film, .. } => at(&places.films[*film], message),
        Fault::Atoms { dielectric, atoms, why, .. } => {
            let all = &description.dielectrics[*dielectric].atoms;
            let entry = &places.dielectrics[*dielectric];
            let defect = of_atoms(entry, all, atoms, *why, &message);
            match why {
                Misplaced::Outside | Misplaced::Close if entry.is_made => defect.help(MADE),
                _ => defect,
            }
        }
        Fault::NoSpace { dielectric, problem, .. } => {
            let entry = &places.dielectrics[*dielectric];
            at(entry.groups.first().unwrap_or(&entry.name), message).help(match problem {
                regions::Error::Open { .. } => {
                    "list all groups that the surface consists of, those of conductors that lie in it too; \
                     or close holes with `farad mesh repair`; `farad mesh check` shows more"
                }
                _ => "`farad mesh check` shows more about the mesh, `farad mesh repair` repairs surfaces that are not quite right",
            })
        }
        Fault::SameSpace { dielectrics: [a, b], .. } => at(&places.dielectrics[*b].name, message)
            .label("and here")
            .first(places.dielectrics[*a].name.clone())
            .help(
                "a surface has one dielectric inside; one that touches another shares only a part of its surface",
            ),
        Fault::Contradiction { surface, .. } => {
            let group = surface.and_then(|index| places.surfaces[index].groups.first());
            at(group.unwrap_or(mesh), message).help(
                "front is the side that normals point to: normals must face one side all over a group, and groups that go on in each \
                 other must have the same media there; lenient = true in [mesh] makes it a warning",
            )
        }
        _ => of_description(places, fault, message),
    }
}

/// The defect for a fault that does not depend on the mesh.
fn of_description(places: &Places, fault: &Fault, message: String) -> Defect {
    let mesh = &places.mesh;
    let at =
        |place: &Range<usize>, message: String| Defect::new(Sort::Value, place.clone(), message);
    match fault {
        Fault::ParallelPlanes { planes: [first, second], .. } => {
            at(&places.planes[*second], message)
                .label("again here")
                .first(places.planes[*first].clone())
                .help("images in parallel planes have images without end; mesh one of the planes")
        }
        Fault::Stack { problem, .. } => {
            let defect = at(&places.stack, message);
            match problem {
                StackFault::Through { .. } => defect.help(
                    "put vertices at that height, so that every triangle is in one layer or in an interface",
                ),
                StackFault::InSeveral(_) => defect
                    .help("give layers as meshed [[dielectric]] bodies, or move all into one layer"),
                StackFault::Shorted { .. } => defect.help("move it off the ground"),
                StackFault::Plane => {
                    defect.help("write below = \"ground\" or above = \"ground\" in [stack]")
                }
                _ => defect,
            }
        }
        Fault::Salt { .. } => at(&places.salt, message)
            .label("ions")
            .help("remove the ions, or what excludes them"),
        Fault::MediaTwice => {
            let message = "media are given by [[dielectric]] and by [[surface]]".to_owned();
            let place = places.surfaces.first().map_or(mesh, |surface| &surface.name);
            at(place, message)
                .label("this surface")
                .help("give either the bodies or what is on both sides of every surface")
        }
        Fault::NoMediumOfCharge => {
            let message = "[[surface]] does not say in which medium a charge lies".to_owned();
            at(places.charges.first().unwrap_or(mesh), message)
                .help("give the media by the bodies that they fill: [[dielectric]]")
        }
        Fault::NothingToProbe => {
            let place = places.probes.first().map_or(mesh, |probe| &probe.name);
            Defect::new(Sort::Missing, place.clone(), message).help(
                "add potential = ... or charge = ... to a [[conductor]], a [[charge]], or an [external] field",
            )
        }
        Fault::DiffusionOfMedia => {
            let message = "[diffusion] applies to a single conducting body: conductors without dielectrics, or molecules \
                           without conductors";
            at(&places.diffusion, message.to_owned()).help(
                "give the body's surface a case of its own, without [[dielectric]] and [[surface]]: all of a mesh is a \
                 conductor then",
            )
        }
        Fault::NeedsAllNets { .. } => at(places.nets.first().unwrap_or(mesh), message)
            .help("leave out [solver] nets and --nets, or what needs all of it"),
        Fault::NothingToSolve => Defect::new(Sort::Missing, mesh.clone(), message).help(
            "a dielectric needs something that polarises it: a [[charge]], a PQR file of charges, an [external] field or \
             output.polarisability",
        ),
        // Numbers have been checked by the schema, and the rest is of the mesh alone.
        _ => at(mesh, message),
    }
}

/// The subject of an error with conductors: a group, a conductor, or else the mesh.
fn of_conductors<'a>(
    description: &Description,
    places: &'a Places,
    problem: &conductors::Error,
) -> &'a Range<usize> {
    use conductors::Error as P;
    let found = match problem {
        P::RepeatedName(name) | P::NoGroups(name) | P::Empty(name) => {
            places.conductor(description, name)
        }
        P::UnknownGroup { group, .. } | P::GroupTwice { group, .. } => {
            places.group(description, group)
        }
        _ => None,
    };
    found.unwrap_or(&places.mesh)
}

fn of_plane(
    place: &Range<usize>,
    is_ground: bool,
    name: &str,
    problem: PlaneFault,
    message: String,
) -> Defect {
    let message = match problem {
        PlaneFault::Polarisability => {
            format!(
                "output.polarisability needs fields along all axes, which {name} does not allow"
            )
        }
        PlaneFault::Diffusion => {
            format!("[diffusion] applies to a single body, not one over {name}")
        }
        _ => message,
    };
    let defect = Defect::new(Sort::Value, place.clone(), message);
    match problem {
        PlaneFault::NotMirrored(mirror::Error::InPlane(_)) => defect.help(if is_ground {
            "leave faces in the plane out of the mesh: the plane is there without them (mesh.ignore names their groups)"
        } else {
            "leave faces in the plane out of the mesh, which are cuts through a body (mesh.ignore names their groups)"
        }),
        PlaneFault::NotMirrored(_) => defect.help(
            "everything must lie on one side of the plane; a body that it cuts is meshed up to the plane",
        ),
        PlaneFault::Shorted(_) => defect.help(
            "move it off; metal that is part of the ground may not be raised to a potential",
        ),
        _ => defect,
    }
}

/// The defect of atoms that are in the wrong place, by their lines in the file.
fn of_atoms(entry: &Entry, all: &[Atom], atoms: &[usize], why: Misplaced, message: &str) -> Defect {
    let named: Vec<String> = atoms
        .iter()
        .take(NAMED)
        .map(|&atom| format!("{} (line {})", all[atom].name, entry.lines[atom]))
        .collect();
    let more = if atoms.len() > NAMED { " and others" } else { "" };
    let (place, file) = match &entry.file {
        Some(file) => (file.span.clone(), file.value.display().to_string()),
        None => (entry.name.clone(), String::new()),
    };
    let message = format!("in {file}, {message}: {}{more}", named.join(", "));
    Defect::new(Sort::Value, place, message).help(match why {
        Misplaced::Outside => {
            "the surface and the atoms must be of one molecule in one place; positions in PQR files are in angstrom, and the \
             mesh's unit is named in [mesh]"
        }
        Misplaced::Beyond => "list only the atoms on the mesh's side: images are made by the program",
        Misplaced::Close => {
            "their energy would depend on where the facets happen to be; take a surface that encloses the atoms' spheres"
        }
    })
}

/// A note on the surfaces, for people who run the program.
pub(crate) fn note_text(case: &Case, note: &Note) -> String {
    let file = case.surfaces();
    match note {
        Note::ThroughItself { .. } if case.mesh.is_none() => note.to_string(),
        Note::ThroughItself { .. } => {
            format!("{note}, and `farad mesh check {file}` writes them to a VTK file")
        }
        Note::Touching(_) | Note::Allowed(_) => format!("in {file}, {note}"),
        Note::Separate(_)
        | Note::InMetal { .. }
        | Note::Rounded { .. }
        | Note::Split { .. }
        | Note::SplitNextToSurfaces { .. } => format!("{file}: {note}"),
    }
}
