//! The choice of an instruction set.

use std::ffi::OsStr;

use simd::internals::Set;
use simd::{Error, Level, check};

#[test]
fn the_variable_chooses_at_most_what_the_processor_has() {
    let choose = |value: &str, best| Set::choose(Some(OsStr::new(value)), best);
    let all = ["baseline", "avx2", "avx512"].into_iter().zip(Set::ALL);
    for (name, level) in all {
        for best in Set::ALL {
            match choose(name, best) {
                Ok(found) => assert!(found == level && level <= best),
                Err(Error::Missing { .. }) => assert!(level > best),
                other => panic!("{other:?}"),
            }
        }
    }
    for best in [Set::Baseline, Set::Avx2] {
        assert_eq!(Set::choose(None, best).unwrap(), best);
        assert_eq!(choose("", best).unwrap(), best);
    }
    for unknown in ["sse2", "AVX2", "avx2 ", "scalar"] {
        assert!(matches!(choose(unknown, Set::Avx512), Err(Error::Unknown { .. })));
    }
    // Loops never use instructions that the processor lacks, whatever the tests run under.
    assert!(Level::chosen() <= Level::detect());
    assert_eq!(check().unwrap(), Level::chosen());
}
