//! Files of compiled kernels.

use cuda::internals::Key;

#[test]
fn everything_that_decides_a_kernel_decides_its_file() {
    let options = vec!["-DREAL=float".to_owned()];
    let key = || Key {
        name: "p2p.cu",
        text: "a",
        headers: &[("real.cuh", "b")],
        options: &options,
        compiler: (12, 8),
    };
    let file = key().file();
    assert_eq!(file, key().file());
    assert!(file.starts_with("p2p_cu-") && file.ends_with(".cubin"));
    assert_ne!(file, Key { text: "b", ..key() }.file());
    assert_ne!(file, Key { headers: &[("real.cuh", "c")], ..key() }.file());
    assert_ne!(file, Key { options: &[], ..key() }.file());
    assert_ne!(file, Key { compiler: (12, 9), ..key() }.file());
}

#[test]
fn a_kernel_that_is_not_what_was_stored_is_not_loaded() {
    let key = Key { name: "p2p.cu", text: "a", headers: &[], options: &[], compiler: (12, 8) };
    let image: Vec<u8> = (0..=255).collect();
    let stored = key.pack(&image);
    assert_eq!(key.unpack(&stored), Some(image.clone()));
    // Any bit, in the header or in the machine code.
    for bit in 0..8 * stored.len() {
        let mut damaged = stored.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(key.unpack(&damaged), None, "bit {bit}");
    }
    for length in 0..stored.len() {
        assert_eq!(key.unpack(&stored[..length]), None, "{length} bytes");
    }
    let longer = [&stored[..], &[0]].concat();
    assert_eq!(key.unpack(&longer), None);
    // As long as what was stored, and a kernel, but another's.
    let other = Key { text: "b", ..key };
    assert_eq!(other.unpack(&stored), None);
}
