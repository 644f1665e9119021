//! Messages.

use cuda::{Error, in_units};

#[test]
fn what_does_not_fit_is_reported_with_the_gpu() {
    let error = Error::OutOfMemory { gpu: 3, needed: 195 << 30, free: (8 << 30) + (1 << 29) };
    let text = "not enough memory on GPU 3: 195 GiB are needed, 8.5 GiB are free";
    assert_eq!(error.to_string(), text);
    assert_eq!(in_units(999), "999 B");
}
