use fmm::Stop;
use fmm::internals::stop::Ending;

#[test]
fn what_was_left_out_is_reported_though_the_stop_is_taken_back() {
    let stop = Stop::default();
    let ending = Ending::from(stop.clone());
    assert!(!ending.is_set() && ending.check().is_ok());
    stop.set(true);
    assert!(ending.is_set());
    stop.set(false);
    assert!(ending.check().is_err());
    // The next sum is another one.
    assert!(ending.check().is_ok());
}
