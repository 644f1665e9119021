//! `farad mesh generate`.

use clap::Subcommand;
use clap::builder::TypedValueParser;
use formats::pqr;
use mesh::Mesh;
use mesh::generate::{
    self, Bus, ConcentricSpheres, Cube, Cylinder, Disk, Ellipsoid, Molecule, Plate, Resolution,
    Sphere, SphereBase, Torus, TwoSpheres,
};

use super::convert::Target;
use crate::commands::arguments::{parse_positive, parse_whole};
use crate::files;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;
use crate::words::{parser, words};

/// Arguments of `farad mesh generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    shape: Shape,
}

/// How fine, and where to.
#[derive(Debug, clap::Args)]
struct Common {
    #[command(flatten)]
    resolution: ResolutionArgs,
    /// Order of the triangles, 1 to 4: from 2 on they are curved, with nodes on the true surface
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    order: u8,
    #[command(flatten)]
    target: Target,
}

/// How fine.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct ResolutionArgs {
    /// Longest edge length
    #[arg(long, value_name = "LENGTH", value_parser = parse_positive)]
    size: Option<f64>,
    /// Number of triangles; the closest possible number is used
    #[arg(long, value_name = "N", value_parser = parse_whole)]
    elements: Option<usize>,
}

words!(SphereBase { "octahedron" = Self::Octahedron, "icosahedron" = Self::Icosahedron });

/// The polyhedron that a sphere is subdivided from.
fn bases() -> impl TypedValueParser<Value = SphereBase> {
    parser(&[
        "8 n^2 triangles, with the symmetry of the coordinate planes",
        "20 n^2 triangles of more equal size",
    ])
}

#[derive(Debug, Subcommand)]
enum Shape {
    /// A sphere around the origin; group `sphere`
    Sphere {
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        radius: f64,
        #[arg(long, default_value = "octahedron", value_parser = bases())]
        base: SphereBase,
        /// Give the facets the volume of the sphere; otherwise its vertices lie on the sphere
        #[arg(long)]
        equal_volume: bool,
        #[command(flatten)]
        common: Common,
    },
    /// A cube around the origin; group `cube`
    Cube {
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        edge: f64,
        /// Largest over smallest element size; elements shrink toward the edges
        #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = parse_positive)]
        grade: f64,
        #[command(flatten)]
        common: Common,
    },
    /// A thin rectangle around the origin in the plane z = 0; group `plate`
    Plate {
        /// Length along x
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        width: f64,
        /// Length along y
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        height: f64,
        /// Largest over smallest element size; elements shrink toward the edges
        #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = parse_positive)]
        grade: f64,
        #[command(flatten)]
        common: Common,
    },
    /// A thin disk around the origin in the plane z = 0; group `disk`
    Disk {
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        radius: f64,
        /// Largest over smallest element size; elements shrink toward the rim
        #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = parse_positive)]
        grade: f64,
        #[command(flatten)]
        common: Common,
    },
    /// A torus around the z axis; group `torus`
    Torus {
        /// From the axis to the centre of the tube
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        ring_radius: f64,
        #[arg(long, default_value_t = 0.25, value_parser = parse_positive)]
        tube_radius: f64,
        #[command(flatten)]
        common: Common,
    },
    /// An ellipsoid around the origin; group `ellipsoid`
    Ellipsoid {
        /// Half the length along x, y and z
        #[arg(long, num_args = 3, value_names = ["X", "Y", "Z"], default_values_t = [1.0, 1.0, 2.0], value_parser = parse_positive)]
        semi_axes: Vec<f64>,
        #[arg(long, default_value = "octahedron", value_parser = bases())]
        base: SphereBase,
        #[command(flatten)]
        common: Common,
    },
    /// A cylinder with flat caps around the z axis, its middle at the origin; group `cylinder`
    Cylinder {
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        radius: f64,
        #[arg(long, default_value_t = 2.0, value_parser = parse_positive)]
        length: f64,
        #[command(flatten)]
        common: Common,
    },
    /// Two equal spheres on the x axis; groups `left` and `right`
    TwoSpheres {
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        radius: f64,
        /// Between the centres
        #[arg(long, default_value_t = 3.0, value_parser = parse_positive)]
        distance: f64,
        #[arg(long, default_value = "octahedron", value_parser = bases())]
        base: SphereBase,
        /// Largest over smallest element size; elements shrink toward the other sphere
        #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = parse_positive)]
        grade: f64,
        /// Give the facets the volumes of the spheres; otherwise their vertices lie on the spheres
        #[arg(long)]
        equal_volume: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Two spheres around the origin; groups `inner` and `outer`
    ConcentricSpheres {
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        inner_radius: f64,
        #[arg(long, default_value_t = 2.0, value_parser = parse_positive)]
        outer_radius: f64,
        #[arg(long, default_value = "octahedron", value_parser = bases())]
        base: SphereBase,
        /// Give the facets the volumes of the spheres; otherwise their vertices lie on the spheres
        #[arg(long)]
        equal_volume: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Bars in two crossing layers; groups `bar_x1`, ..., `bar_y1`, ...
    Bus {
        /// Bars in each layer
        #[arg(long, default_value_t = 5, value_parser = parse_whole)]
        bars: usize,
        /// Width and height of a bar
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        width: f64,
        /// Clear distance between neighbours of a layer
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        spacing: f64,
        /// Clear distance between the layers
        #[arg(long, default_value_t = 1.0, value_parser = parse_positive)]
        gap: f64,
        /// Largest over smallest element size; elements shrink toward the edges
        #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = parse_positive)]
        grade: f64,
        #[command(flatten)]
        common: Common,
    },
    /// A globule of atoms in angstrom, dense as a protein, with its Gaussian surface; group
    /// `molecule`. The atoms go to a PQR file next to the mesh
    Molecule {
        /// How many atoms
        #[arg(long, default_value_t = 1000, value_parser = parse_whole)]
        atoms: usize,
        #[command(flatten)]
        common: Common,
    },
}

impl ResolutionArgs {
    pub(super) fn resolution(&self) -> Resolution {
        match *self {
            Self { size: Some(size), .. } => Resolution::Size(size),
            // The group makes sure of one of the two; none would be refused as such.
            Self { elements, .. } => Resolution::Closest(elements.unwrap_or(0)),
        }
    }
}

impl Shape {
    fn common(&self) -> &Common {
        match self {
            Self::Sphere { common, .. }
            | Self::Cube { common, .. }
            | Self::Plate { common, .. }
            | Self::Disk { common, .. }
            | Self::Torus { common, .. }
            | Self::Ellipsoid { common, .. }
            | Self::Cylinder { common, .. }
            | Self::TwoSpheres { common, .. }
            | Self::ConcentricSpheres { common, .. }
            | Self::Bus { common, .. }
            | Self::Molecule { common, .. } => common,
        }
    }

    fn build(&self) -> Result<Mesh, generate::Error> {
        let common = self.common();
        let (resolution, order) = (common.resolution.resolution(), usize::from(common.order));
        match *self {
            Self::Sphere { radius, base, equal_volume, .. } => {
                let shape = Sphere { radius, base, resolution };
                if equal_volume {
                    Ok(generate::with_volumes(shape.build()?, &[([0.0; 3], radius)]))
                } else {
                    shape.build_curved(order)
                }
            }
            Self::Cube { edge, grade, .. } => Cube { edge, grade, resolution }.build(),
            Self::Plate { width, height, grade, .. } => {
                Plate { width, height, grade, resolution }.build()
            }
            Self::Disk { radius, grade, .. } => {
                Disk { radius, grade, resolution }.build_curved(order)
            }
            Self::Torus { ring_radius, tube_radius, .. } => {
                Torus { ring_radius, tube_radius, resolution }.build_curved(order)
            }
            Self::Ellipsoid { ref semi_axes, base, .. } => {
                // The parser makes sure of three.
                let semi_axes =
                    std::array::from_fn(|i| semi_axes.get(i).copied().unwrap_or_default());
                Ellipsoid { semi_axes, base, resolution }.build_curved(order)
            }
            Self::Cylinder { radius, length, .. } => {
                Cylinder { radius, length, resolution }.build_curved(order)
            }
            Self::TwoSpheres { radius, distance, base, grade, equal_volume, .. } => {
                let shape = TwoSpheres { radius, distance, base, resolution };
                if equal_volume {
                    shape.build_with_volumes(grade)
                } else {
                    shape.build_curved(grade, order)
                }
            }
            Self::ConcentricSpheres { inner_radius, outer_radius, base, equal_volume, .. } => {
                let shape = ConcentricSpheres { inner_radius, outer_radius, base, resolution };
                if !equal_volume {
                    return shape.build_curved(order);
                }
                let spheres = [([0.0; 3], inner_radius), ([0.0; 3], outer_radius)];
                Ok(generate::with_volumes(shape.build()?, &spheres))
            }
            Self::Bus { bars, width, spacing, gap, grade, .. } => {
                Bus { bars, width, spacing, gap, grade, resolution }.build()
            }
            Self::Molecule { atoms, .. } => Molecule { atoms, resolution }.build_curved(order),
        }
    }

    /// Refuses or notes an order that has no effect.
    fn check_order(&self) -> Result<(), Failure> {
        let equal_volume = match self {
            Self::Sphere { equal_volume, .. }
            | Self::TwoSpheres { equal_volume, .. }
            | Self::ConcentricSpheres { equal_volume, .. } => *equal_volume,
            _ => false,
        };
        if self.common().order == 1 {
            return Ok(());
        }
        if equal_volume {
            return Err(Failure::with_help(
                Exit::Usage,
                "--equal-volume is for flat triangles, and --order makes them curved",
                "leave one of them out: curved triangles have nearly the volume of the sphere",
            ));
        }
        if matches!(self, Self::Cube { .. } | Self::Plate { .. } | Self::Bus { .. }) {
            Output::default()
                .note("--order has no effect: this shape is flat, and so are its triangles");
        }
        Ok(())
    }
}

/// Makes the mesh and writes it.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let target = &args.shape.common().target;
    target.check()?;
    args.shape.check_order()?;
    let usage = |error| Failure::new(Exit::Usage, error);
    if let Shape::Molecule { atoms, common } = &args.shape {
        let path = target.output.with_extension("pqr");
        files::check_vacant(&path, target.overwrite)?;
        let resolution = common.resolution.resolution();
        let atoms = Molecule { atoms: *atoms, resolution }.atoms().map_err(usage)?;
        let mesh = args.shape.build().map_err(usage)?;
        files::replace(&path, |mut out| pqr::write(&pqr::named(&atoms), &mut out))?;
        return target.write(&mesh);
    }
    let mesh = args.shape.build().map_err(usage)?;
    target.write(&mesh)
}
