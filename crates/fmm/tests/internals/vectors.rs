use fmm::internals::vectors::{VectorTable, coarser_target, unpack};

#[test]
fn every_vector_keeps_its_number_and_comes_back_from_it() {
    let mut vectors = VectorTable::default();
    for _ in 0..2 {
        vectors.clear();
        let mut asked = Vec::new();
        for coarser_target in [-2, -1, 0, 1, 5] {
            let odd = i32::from(coarser_target != 0);
            for i in 0..900 {
                // Short vectors and long ones, more than the first table of them holds.
                let offset = [2 * (i % 30 - 15) + odd, 2 * (i / 30) + odd, odd - 8];
                asked.push((coarser_target, offset, vectors.number(coarser_target, offset)));
            }
        }
        for &(coarser_target, offset, number) in &asked {
            assert_eq!(vectors.number(coarser_target, offset), number);
            assert_eq!(vectors.counts[number as usize], 2);
        }
        let keys = vectors.keys();
        assert_eq!(keys.len(), asked.len());
        for (key, number) in keys {
            let found = asked.iter().find(|a| a.2 == number).unwrap();
            assert_eq!(coarser_target(key), found.0);
            assert_eq!(unpack(key).offset, found.1);
        }
    }
}
