mod flatten;
mod nets;
mod path;
mod stack;
mod stream;
mod testing;

use std::path::Path;

use formats::internals::gds::stream::{Library, Reference};
use formats::layout::Model;
use formats::layout::gds::read;
use mesh::files::Error;
use proptest::prelude::*;

use testing::Writer;

const STACK: &str = "[[metal]]\nname = \"m\"\ngds = \"1/0\"\nfrom = 1\nto = 2\n\
                     [[metal]]\nname = \"n\"\ngds = \"2\"\nfrom = 2\nto = 3.0005\n";

fn read_bytes(layout: &[u8], stack: &str) -> Result<Model, Error> {
    let load = |path: &Path| match path.extension() {
        Some(ending) if ending == "toml" => Ok(stack.into()),
        _ => Ok(layout.to_vec()),
    };
    read(Path::new("a.gds"), Path::new("a.toml"), true, load)
}

fn layout() -> Vec<u8> {
    let mut file = Writer::new();
    file.begin("flag");
    file.polygon((1, 0), &[[0, 0], [400, 0], [0, 200]]);
    file.path((2, 0), 1, 100, &[[0, 0], [700, 0], [700, 900]], None);
    file.path((1, 0), 4, 100, &[[0, 900], [0, 1700]], Some([50, -20]));
    file.end();
    file.begin("top");
    file.sref("flag", [10, 20], Some((true, 2.0, 45.0)));
    file.aref("flag", [3, 2], [[5000, 0], [9000, 0], [5000, 6000]]);
    file.text((1, 3), "net", [5010, 10]);
    file.end();
    file.finish()
}

#[test]
fn heights_between_steps_of_the_grid_are_kept() {
    let model = read_bytes(&layout(), STACK).unwrap();
    let heights: Vec<f64> = model.mesh.vertices.iter().map(|x| x[2]).collect();
    assert!(heights.iter().all(|z| [1.0, 2.0, 3.0005].contains(z)), "{heights:?}");
    // The via-less layers touch where shapes lie on each other.
    assert!(model.description.conductors.iter().any(|of| of.name == "net"));
    assert!(model.mesh.validate().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Damaged files give an error or a valid mesh.
    #[test]
    fn damage_is_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = layout();
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        // Long arrays take long and are no damage.
        let is_short = |of: &Reference| of.array[0].0 * of.array[1].0 < 100;
        let library = Library::parse(&bytes);
        let is_small = library.is_ok_and(|library| {
            library.cells.iter().flat_map(|cell| &cell.references).all(is_short)
        });
        if is_small && let Ok(model) = read_bytes(&bytes, STACK) {
            prop_assert!(model.mesh.validate().is_ok());
        }
    }
}
