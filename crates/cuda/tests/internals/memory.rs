//! Sizes of memory.

use cuda::internals::{Held, bytes_of, within};

#[test]
fn lengths_that_wrap_are_refused() {
    assert_eq!(bytes_of::<f64>(3), Some(24));
    assert_eq!(bytes_of::<[u32; 8]>(0), Some(0));
    // 2^61 doubles are 2^64 bytes: wrapped around, none.
    assert_eq!(bytes_of::<f64>(1 << 61), None);
    assert_eq!(bytes_of::<f64>((1 << 61) + 1), None);
    // More than any object may have.
    assert_eq!(bytes_of::<u8>(usize::MAX), None);
    assert_eq!(bytes_of::<u8>(isize::MAX as usize), Some(isize::MAX as usize));
}

#[test]
fn the_most_is_kept() {
    let held = Held::default();
    held.add(5);
    held.add(7);
    held.subtract(5);
    held.add(2);
    assert_eq!([held.now(), held.most()], [9, 12]);
}

#[test]
fn ranges_that_wrap_are_outside() {
    assert!(within(0, 3, 3) && within(3, 0, 3) && within(1, 2, 3));
    assert!(!within(1, 3, 3) && !within(4, 0, 3));
    assert!(!within(usize::MAX, 2, 3) && !within(2, usize::MAX, 3));
}
