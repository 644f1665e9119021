use bem::Beyond;
use farad::internals::layers::find;
use farad::{Description, Fault, StackFault};

use crate::testing;

fn stack() -> bem::Stack {
    let layer = bem::StackLayer { thickness: 4.0, permittivity: 3.0 };
    bem::Stack::default()
        .at(-2.0)
        .below(Beyond::Ground)
        .layers(vec![layer])
        .above(Beyond::Dielectric(2.0))
        .tolerance(1e-6)
}

fn found(stack: &bem::Stack) -> Result<f64, StackFault> {
    let found = find(stack, &testing::sphere(), |_| true, |_| true);
    found.map(|found| found.reference()).map_err(|faults| match faults[..] {
        [Fault::Stack { problem, .. }] => problem,
        _ => panic!("{faults:?}"),
    })
}

#[test]
fn the_layer_of_the_surfaces_is_found() {
    assert_eq!(found(&stack()), Ok(3.0));
    // From -1 to 1, in what is above, through an interface, at and in the ground.
    let at = |at: f64| stack().at(at);
    assert_eq!(found(&at(-5.0)), Ok(2.0));
    assert!(matches!(found(&at(-4.5)), Err(StackFault::Through { at: -0.5, .. })));
    assert!(matches!(found(&at(-1.0)), Err(StackFault::Shorted { at: -1.0, .. })));
    assert!(matches!(found(&at(5.0)), Err(StackFault::InGround { .. })));
}

#[test]
fn what_has_no_meaning_in_layers_is_reported() {
    let with = |change: &dyn Fn(&mut Description)| -> Vec<String> {
        let mut description = Description::default().stack(Some(stack()));
        change(&mut description);
        description.faults().iter().map(ToString::to_string).collect()
    };
    assert_eq!(with(&|_| ()), [""; 0]);
    let plane = bem::Mirror { plane: mesh::mirror::Plane { axis: 2, at: 0.0 }, odd: true };
    type Change<'a> = (&'a dyn Fn(&mut Description), &'a str);
    let changes: [Change<'_>; 5] = [
        (&|d| d.field = [0.0, 0.0, 1.0], "external field"),
        (&|d| d.polarisability = true, "polarisability"),
        (&|d| d.planes = vec![plane], "plane"),
        (&|d| d.stack.as_mut().unwrap().layers[0].thickness = 0.0, "thickness"),
        (&|d| d.stack.as_mut().unwrap().above = Beyond::Dielectric(-1.0), "permittivity"),
    ];
    for (change, word) in changes {
        let told = with(change);
        assert!(told.len() == 1 && told[0].contains(word), "{word}: {told:?}");
    }
}
