use farad::internals::planes::{Side, Symmetry};
use farad::{Description, Diffusion, Fault, PlaneFault};
use mesh::mirror;
use mesh::mirror::Plane;

use crate::testing;

fn plane(axis: usize, at: f64, odd: bool) -> bem::Mirror {
    bem::Mirror { plane: Plane { axis, at }, odd }
}

/// A unit sphere and these planes, all of it metal or none.
fn found(description: &Description, metal: bool) -> Result<Symmetry, Vec<PlaneFault>> {
    let problem = |fault: Fault| match fault {
        Fault::Plane { problem, .. } => problem,
        other => panic!("{other}"),
    };
    Symmetry::find(description, &testing::sphere(), |_| true, |_| metal)
        .map_err(|faults| faults.into_iter().map(problem).collect())
}

fn with(planes: &[bem::Mirror]) -> Description {
    Description::default().planes(planes.to_vec())
}

#[test]
fn what_a_plane_cuts_or_touches_is_reported() {
    let cut = found(&with(&[plane(2, 0.3, false)]), true).unwrap_err();
    assert!(matches!(cut[..], [PlaneFault::NotMirrored(mirror::Error::Through(_))]), "{cut:?}");
    // The sphere's lowest vertex is at z = -1.
    let ground = with(&[plane(2, -1.0, true)]);
    let shorted = found(&ground, true).unwrap_err();
    assert!(matches!(shorted[..], [PlaneFault::Shorted(_)]), "{shorted:?}");
    assert!(found(&ground, false).is_ok());
    assert!(found(&with(&[plane(2, -1.0, false)]), true).is_ok());
}

#[test]
fn fields_and_tensors_that_a_plane_does_not_allow_are_reported() {
    let (ground, symmetric) = (with(&[plane(2, -3.0, true)]), with(&[plane(2, -3.0, false)]));
    let field = |description: &Description, field| {
        found(&description.clone().field(field), true).map(|_| ())
    };
    assert_eq!(field(&ground, [0.0, 1.0, 0.0]), Err(vec![PlaneFault::FieldAlong]));
    assert_eq!(field(&ground, [0.0, 0.0, 1.0]), Ok(()));
    assert_eq!(field(&symmetric, [0.0, 0.0, 1.0]), Err(vec![PlaneFault::FieldThrough]));
    assert_eq!(field(&symmetric, [0.0, 1.0, 0.0]), Ok(()));
    let polarised = ground.clone().polarisability(true);
    assert_eq!(found(&polarised, true).map(|_| ()), Err(vec![PlaneFault::Polarisability]));
    let diffusion = Some(Diffusion { temperature: 300.0, viscosity: 1e-3 });
    let diffusing = ground.diffusion(diffusion);
    let told = found(&diffusing, true).map(|_| ());
    assert_eq!(told, Err(vec![PlaneFault::Diffusion]));
    let fault =
        Fault::Plane { plane: 0, name: "the plane".to_owned(), problem: PlaneFault::Diffusion };
    let words = "diffusion applies to a single body, not one over the plane";
    assert_eq!(fault.to_string(), words);
    let allowed = symmetric.polarisability(true).diffusion(diffusion);
    assert!(found(&allowed, true).is_ok());
}

#[test]
fn points_lie_here_in_the_ground_or_beyond() {
    let planes = [plane(2, -3.0, true), plane(0, -1.0, false)];
    let symmetry = found(&with(&planes), false).unwrap();
    assert_eq!(symmetry.side([0.0, 5.0, 0.0]), Side::Here);
    assert_eq!(symmetry.side([0.0, 0.0, -3.0]), Side::InGround(0));
    assert_eq!(symmetry.side([0.0, 0.0, -4.0]), Side::Beyond(0));
    assert_eq!(symmetry.side([-1.0, 0.0, 0.0]), Side::Here);
    assert_eq!(symmetry.side([-1.5, 0.0, 0.0]), Side::Beyond(1));
    assert!(symmetry.is_behind_ground([0.0, 0.0, -3.5]));
    assert!(!symmetry.is_behind_ground([-1.5, 0.0, 0.0]));
    assert_eq!(symmetry.snapped([-1.0 + 1e-12, 2.0, 0.0]), [-1.0, 2.0, 0.0]);
    assert_eq!(symmetry.origin(), [0.0, 0.0, -3.0]);
    // Images: 0 is the part, bit k of the number is the plane of index k.
    assert_eq!(symmetry.joined(|_| false), [0]);
    assert_eq!(symmetry.joined(|k| k == 1), [0, 2]);
    assert_eq!(symmetry.touching(|_| true), [false, true]);
    assert_eq!(symmetry.whole(&testing::sphere()).triangles.len(), 4 * 128);
}
