//! Meshes.

use std::path::PathBuf;
use std::sync::Arc;

use farad::LengthUnit;
use mesh::generate::{
    ConcentricSpheres, Cube, Cylinder, Disk, Ellipsoid, Plate, Resolution, Sphere, SphereBase,
    Torus, TwoSpheres,
};
use mesh::transform::{Motion, moved};
use mesh::{Patches, PhysicalGroup, gmsh, join, quality, stitch};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{self, Array2};
use crate::error::Failure;
use crate::{molecule, run};

/// The unit of a name.
pub(crate) fn unit(name: &str) -> Result<LengthUnit, Failure> {
    LengthUnit::from_name(name).ok_or_else(|| {
        let all = LengthUnit::ALL.map(LengthUnit::name).join(", ");
        Failure::input(format!("unit is \"{name}\"; it must be one of {all}"))
    })
}

/// A triangle surface that does not change, with the unit of its coordinates.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Mesh {
    pub(crate) mesh: Arc<mesh::Mesh>,
    pub(crate) unit: LengthUnit,
    /// Notes of the reader.
    notes: Vec<String>,
}

impl Mesh {
    pub(crate) fn new(mesh: mesh::Mesh, unit: LengthUnit) -> Self {
        Self { mesh: Arc::new(mesh), unit, notes: Vec::new() }
    }

    pub(crate) fn shared(mesh: Arc<mesh::Mesh>, unit: LengthUnit) -> Self {
        Self { mesh, unit, notes: Vec::new() }
    }
}

/// Points, triangles, sets of groups, groups, order and nodes of curved triangles, unit and notes.
type Parts<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<u32>>,
    (Bound<'py, PyArray1<u32>>, Vec<Vec<u32>>),
    Vec<(i64, Option<String>)>,
    Option<(usize, Bound<'py, PyArray2<f64>>)>,
    (String, Vec<String>),
);

/// No group.
const NONE: u32 = u32::MAX;

#[pymethods]
impl Mesh {
    /// A surface from arrays of shapes (vertices, 3) and (triangles, 3); for each triangle the
    /// index of its group's name, 2^32 - 1 for none; `nodes` of shape (6 triangles, 3) of curved
    /// triangles.
    #[staticmethod]
    #[pyo3(signature = (points, triangles, group, names, unit, nodes = None))]
    fn from_arrays(
        py: Python<'_>,
        points: Array2<'_>,
        triangles: PyReadonlyArray2<'_, u32>,
        group: PyReadonlyArray1<'_, u32>,
        names: Vec<String>,
        unit: &str,
        nodes: Option<Array2<'_>>,
    ) -> PyResult<Self> {
        let raise = |failure: Failure| failure.raise(py);
        let unit = self::unit(unit).map_err(raise)?;
        let wrong = |what: &str| raise(Failure::input(what));
        let vertices = points.points(py, "points")?;
        let (corners, is_whole) = arrays::rows_of(&triangles)
            .ok_or_else(|| wrong("triangles are not contiguous in C order"))?;
        if !is_whole {
            return Err(wrong("triangles are not of shape (n, 3)"));
        }
        let corners = corners.to_vec();
        let group = group.as_slice().map_err(|_| wrong("groups are not contiguous"))?.to_vec();
        if vertices.len() >= NONE as usize || corners.len() >= NONE as usize {
            return Err(wrong("a mesh has less than 2^32 vertices and triangles"));
        }
        let patches = match &nodes {
            Some(nodes) => Some(Patches { order: 2, nodes: nodes.points(py, "nodes")? }),
            None => None,
        };
        run::watched(py, None, None, move |_, _| {
            let groups = names.iter().zip(1..);
            let groups: Vec<PhysicalGroup> =
                groups.map(|(name, tag)| PhysicalGroup { tag, name: Some(name.clone()) }).collect();
            let sets = (0..groups.len() as u32).map(|group| vec![group]);
            let mut mesh = mesh::Mesh {
                vertices,
                triangles: corners,
                memberships: [vec![]].into_iter().chain(sets).collect(),
                membership: group.iter().map(|group| group.wrapping_add(1)).collect(),
                groups,
                patches,
            };
            mesh.validate()?;
            mesh.drop_unused();
            if mesh.patches.is_none() {
                stitch::stitch(&mut mesh);
            }
            Ok(Self::new(mesh, unit))
        })
    }

    /// A surface from the parts of another one.
    #[staticmethod]
    fn from_parts(py: Python<'_>, parts: Parts<'_>) -> PyResult<Self> {
        let wrong = |what: &str| Failure::input(what).raise(py);
        let (points, triangles, sets, groups, nodes, (unit, notes)) = parts;
        let unit = self::unit(&unit).map_err(|failure| failure.raise(py))?;
        let vertices = Array2::Double(points.readonly()).points(py, "points")?;
        let corners = arrays::rows_of(&triangles.readonly())
            .filter(|(_, is_whole)| *is_whole)
            .map(|(rows, _)| rows.to_vec())
            .ok_or_else(|| wrong("triangles are not of shape (n, 3)"))?;
        let (membership, memberships) = sets;
        let membership = membership.readonly().as_array().to_vec();
        let patches = match nodes {
            Some((order, nodes)) => {
                let nodes = Array2::Double(nodes.readonly()).points(py, "nodes")?;
                Some(Patches { order, nodes })
            }
            None => None,
        };
        let groups = groups.into_iter().map(|(tag, name)| PhysicalGroup { tag, name }).collect();
        let mesh =
            mesh::Mesh { vertices, triangles: corners, groups, membership, memberships, patches };
        mesh.validate().map_err(|error| Failure::from(error).raise(py))?;
        Ok(Self { notes, ..Self::new(mesh, unit) })
    }

    /// Its parts.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        let mesh = &*self.mesh;
        let triangles = PyArray1::from_slice(py, mesh.triangles.as_flattened());
        let nodes = match &mesh.patches {
            Some(patches) => Some((patches.order, arrays::of_points(py, &patches.nodes)?)),
            None => None,
        };
        Ok((
            arrays::of_points(py, &mesh.vertices)?,
            triangles.reshape([mesh.triangles.len(), 3])?,
            (PyArray1::from_slice(py, &mesh.membership), mesh.memberships.clone()),
            mesh.groups.iter().map(|group| (group.tag, group.name.clone())).collect(),
            nodes,
            (self.unit.name().to_owned(), self.notes.clone()),
        ))
    }

    /// From a file of Gmsh, MSMS, OFF, PLY or STL.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, unit: &str) -> PyResult<Self> {
        let unit = self::unit(unit).map_err(|failure| failure.raise(py))?;
        run::watched(py, None, None, move |_, pool| {
            let (mesh, reading) = pool.install(|| mesh::files::read(&path))?;
            mesh.validate()?;
            Ok(Self { notes: reading.notes, ..Self::new(mesh, unit) })
        })
    }

    /// The surface of the atoms of a PQR file.
    #[staticmethod]
    fn molecule(
        py: Python<'_>,
        path: PathBuf,
        name: String,
        choices: molecule::Choices,
        unit: &str,
    ) -> PyResult<Self> {
        let unit = self::unit(unit).map_err(|failure| failure.raise(py))?;
        run::watched(py, None, None, move |_, pool| {
            let (mesh, notes) = pool.install(|| molecule::surface(&path, name, &choices, unit))?;
            Ok(Self { notes, ..Self::new(mesh, unit) })
        })
    }

    /// A shape by its name and lengths.
    #[staticmethod]
    fn shape(
        py: Python<'_>,
        shape: String,
        lengths: Vec<f64>,
        grade: f64,
        resolution: (Option<f64>, Option<usize>),
        order: usize,
        unit: &str,
    ) -> PyResult<Self> {
        let raise = |failure: Failure| failure.raise(py);
        let unit = self::unit(unit).map_err(raise)?;
        let resolution = match resolution {
            (Some(size), None) => Resolution::Size(size),
            (None, Some(count)) => Resolution::Closest(count),
            _ => return Err(raise(Failure::input("give either elements or size"))),
        };
        let base = SphereBase::Icosahedron;
        let curved = order != 1;
        run::watched(py, None, None, move |_, _| {
            let mesh = match (&shape[..], &lengths[..]) {
                ("sphere", &[radius]) => {
                    let shape = Sphere { radius, base, resolution };
                    if curved { shape.build_curved(order)? } else { shape.build()? }
                }
                ("two_spheres", &[radius, distance]) => {
                    let shape = TwoSpheres { radius, distance, base, resolution };
                    if curved {
                        shape.build_curved(grade, order)?
                    } else {
                        shape.build_graded(grade)?
                    }
                }
                ("concentric_spheres", &[inner_radius, outer_radius]) => {
                    let shape = ConcentricSpheres { inner_radius, outer_radius, base, resolution };
                    if curved { shape.build_curved(order)? } else { shape.build()? }
                }
                ("ellipsoid", &[a, b, c]) => {
                    let shape = Ellipsoid { semi_axes: [a, b, c], base, resolution };
                    if curved { shape.build_curved(order)? } else { shape.build()? }
                }
                ("torus", &[ring_radius, tube_radius]) => {
                    let shape = Torus { ring_radius, tube_radius, resolution };
                    if curved { shape.build_curved(order)? } else { shape.build()? }
                }
                ("cylinder", &[radius, length]) => {
                    let shape = Cylinder { radius, length, resolution };
                    if curved { shape.build_curved(order)? } else { shape.build()? }
                }
                ("disk", &[radius]) => {
                    let shape = Disk { radius, grade, resolution };
                    if curved { shape.build_curved(order)? } else { shape.build()? }
                }
                ("cube", &[edge]) => Cube { edge, grade, resolution }.build()?,
                ("plate", &[width, height]) => {
                    Plate { width, height, grade, resolution }.build()?
                }
                (other, _) => return Err(Failure::input(format!("there is no shape \"{other}\""))),
            };
            Ok(Self::new(mesh, unit))
        })
    }

    /// Several meshes as one, the groups of all kept; names that are taken get a part's name before
    /// them.
    #[staticmethod]
    fn joined(py: Python<'_>, parts: Vec<(String, Py<Self>)>) -> PyResult<Self> {
        let parts: Vec<(String, Arc<mesh::Mesh>, LengthUnit)> = parts
            .iter()
            .map(|(name, part)| (name.clone(), Arc::clone(&part.get().mesh), part.get().unit))
            .collect();
        run::watched(py, None, None, move |_, _| {
            let Some(unit) = parts.first().map(|part| part.2) else {
                return Err(Failure::input("there is no mesh to join"));
            };
            if let Some(other) = parts.iter().map(|part| part.2).find(|other| *other != unit) {
                let (a, b) = (unit.name(), other.name());
                return Err(Failure::input(format!("one mesh is in {a}, another one in {b}")));
            }
            let owned = parts.into_iter().map(|(name, mesh, _)| (name, (*mesh).clone()));
            Ok(Self::new(join::joined(owned.collect()), unit))
        })
    }

    /// Turned by radians about an axis through a point, then shifted.
    fn moved(
        &self,
        py: Python<'_>,
        shift: [f64; 3],
        axis: [f64; 3],
        centre: [f64; 3],
        angle: f64,
    ) -> PyResult<Self> {
        let (mesh, unit) = (Arc::clone(&self.mesh), self.unit);
        run::watched(py, None, None, move |_, _| {
            let numbers = [shift, axis, centre].concat();
            if !numbers.iter().chain([&angle]).all(|x| x.is_finite()) {
                return Err(Failure::input("shift, axis, centre and angle must be finite"));
            }
            if angle != 0.0 && axis == [0.0; 3] {
                return Err(Failure::input("the axis has no direction"));
            }
            let mesh = moved(&mesh, |_| true, &Motion { axis, centre, angle, shift });
            mesh.validate()?;
            Ok(Self::new(mesh, unit))
        })
    }

    /// This surface with other names of groups, one for each.
    fn renamed(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        let mut mesh = (*self.mesh).clone();
        if names.len() != mesh.groups.len() {
            let (found, expected) = (names.len(), mesh.groups.len());
            let why = format!("{found} names for {expected} groups");
            return Err(Failure::input(why).raise(py));
        }
        mesh.groups.iter_mut().zip(names).for_each(|(group, name)| group.name = Some(name));
        Ok(Self::new(mesh, self.unit))
    }

    /// Coordinates, shape (vertices, 3): the mesh's own memory, read-only.
    #[getter]
    fn points<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        // SAFETY: a mesh is frozen, and the vector of one that is shared never changes; it lives as
        // long as the mesh does, which the array keeps.
        unsafe { arrays::borrowed(&this.get().mesh.vertices, this.as_any()) }
    }

    /// Indices of vertices, shape (triangles, 3): the mesh's own memory, read-only.
    #[getter]
    fn triangles<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        // SAFETY: as for the points.
        unsafe { arrays::borrowed(&this.get().mesh.triangles, this.as_any()) }
    }

    /// Names of groups.
    #[getter]
    fn groups(&self) -> Vec<String> {
        self.mesh.groups.iter().map(PhysicalGroup::label).collect()
    }

    /// For each triangle the index of its first group, -1 for none.
    #[getter]
    fn group_of_triangle<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let first = |t: usize| self.mesh.groups_of(t).first().map_or(-1, |group| i64::from(*group));
        PyArray1::from_iter(py, (0..self.mesh.triangles.len()).map(first))
    }

    /// Areas of triangles.
    #[getter]
    fn areas<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, quality::areas(&self.mesh))
    }

    #[getter]
    fn unit(&self) -> &'static str {
        self.unit.name()
    }

    /// 1 for flat triangles, else the order of curved ones.
    #[getter]
    fn order(&self) -> usize {
        self.mesh.order()
    }

    /// Numbers of vertices, triangles.
    #[getter]
    fn counts(&self) -> (usize, usize) {
        (self.mesh.vertices.len(), self.mesh.triangles.len())
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The content of a Gmsh file, MSH 4.1 in ASCII.
    fn to_msh<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mesh = Arc::clone(&self.mesh);
        let bytes = run::watched(py, None, None, move |_, _| {
            let mut out = Vec::new();
            gmsh::write(&mesh, gmsh::Encoding::Ascii, &mut out).map_err(Failure::input)?;
            Ok(out)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}
