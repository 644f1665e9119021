//! Which panels a sampled residual looks at.

use bem::internals::physics::sampled::{System, chosen};
use bem::{Density, Images, Media};
use mesh::generate::{Cube, Plate, Resolution};

#[test]
fn half_of_the_panels_looked_at_are_where_the_charge_is() {
    let resolution = Resolution::Elements(3200);
    let mesh = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    let triangles = mesh.triangles.len();
    let media = Media {
        conductor: &vec![Some(0); triangles],
        conductors: 1,
        permittivity: &vec![[1.0, 1.0]; triangles],
        bodies: &[],
        images: &Images::new(&[]),
    };
    let system = System::new(&mesh, media, Density::Constant, None).unwrap();
    let is_charged = |i: usize| (1000..1008).contains(&i);
    let x: Vec<f64> = (0..triangles).map(|i| -f64::from(u8::from(is_charged(i)))).collect();
    let surface = system.rows.surface();
    let found = surface.drawn(&surface.by_area_and_charge(&[&x, &x]), 16);
    let charged = found.iter().filter(|(i, _)| is_charged(*i)).count();
    assert!((7..=8).contains(&charged), "{charged}");
    // A panel that more than one step falls on counts once.
    let all: f64 = found.iter().map(|(_, stands_for)| stands_for).sum();
    assert!((all / triangles as f64 - 1.0).abs() < 0.1, "{all} of {triangles}");
    for broken in [f64::NAN, f64::INFINITY] {
        let x = vec![broken; triangles];
        let rows = surface.drawn(&surface.by_area_and_charge(&[&x]), 16);
        assert_eq!(rows.len(), 16);
    }
}

#[test]
fn as_many_panels_are_looked_at_as_were_asked_for() {
    let resolution = Resolution::Elements(3000);
    // Sizes of 1:1000.
    for grade in [1.0, 1000.0] {
        let mesh = Cube { edge: 1.0, grade, resolution }.build().unwrap();
        let triangles = mesh.triangles.len();
        let half = |t: usize| Some(u32::from(t > triangles / 2));
        for conductors in [1, 2] {
            let conductor: Vec<Option<u32>> =
                (0..triangles).map(|t| if conductors == 1 { Some(0) } else { half(t) }).collect();
            let media = Media {
                conductor: &conductor,
                conductors,
                permittivity: &vec![[1.0, 1.0]; triangles],
                bodies: &[],
                images: &Images::new(&[]),
            };
            let system = System::new(&mesh, media, Density::Constant, None).unwrap();
            for rows in [1, 16, 32] {
                let chosen = chosen(&system, rows);
                let least = if grade == 1.0 { rows } else { conductors.min(rows) };
                assert!((least..=rows).contains(&chosen.len()), "{rows}: {chosen:?}");
                assert!(chosen.windows(2).all(|pair| pair[0] != pair[1]));
            }
        }
    }
}
