use bem::{Progress, Stage};
use farad_cli::internals::forecast::{Cost, Until, Watch};
use farad_cli::internals::machine::processor_seconds;
use farad_cli::internals::output::Output;

fn watch(until: Until) -> Watch {
    let output = Output { quiet: true, json: false, verbose: false };
    let mut watch = Watch::new(&output, until, fmm::Backend::Cpu);
    (watch.threads, watch.before) = (2, Some(0));
    watch
}

#[test]
fn a_beginning_ends_once_its_rows_represent_all() {
    let watch = watch(Until::SomeRows);
    assert!(watch.advance(Stage::Plan, 0, 1) && watch.advance(Stage::Plan, 1, 1));
    let rows = 100;
    let told = (1..=rows).find(|done| !watch.advance(Stage::NearField, *done, rows));
    // An eighth, which is more than three reports of two threads.
    assert_eq!(told, Some(13));
    assert!(watch.has_stopped());
    assert!(!watch.advance(Stage::NearField, 14, rows), "other threads end, too");
}

#[test]
fn a_solve_ends_when_its_time_is_over() {
    let patient = watch(Until::Seconds(1e9));
    assert!(patient.advance(Stage::NearField, 1, 9) && !patient.has_plan());
    let pause = || std::thread::sleep(std::time::Duration::from_millis(1));
    let spent = |more: f64| processor_seconds().map(|spent| spent + more);
    // As if processors had done nothing for it.
    let mut idle = watch(Until::Seconds(0.0));
    idle.spent_before = spent(1e9);
    pause();
    assert!(idle.advance(Stage::NearField, 1, 9) || cfg!(not(unix)));
    let mut busy = watch(Until::Seconds(0.0));
    busy.spent_before = spent(-1e9);
    pause();
    assert!(!busy.advance(Stage::Plan, 0, 1) && busy.has_stopped() && busy.has_plan());
}

#[test]
fn all_rows_follow_from_some() {
    let watch = watch(Until::SomeRows);
    let at = |seconds: f64, bytes: f64| Cost { seconds, bytes: Some(bytes) };
    let mut marks = watch.marks();
    marks.planned = Some((at(2.0, 100.0), Some(150.0)));
    marks.first = Some((10, at(3.0, 140.0)));
    marks.last = Some((30, at(4.0, 180.0)));
    marks.rows = 100;
    drop(marks);
    let later = Cost { seconds: 5.0, bytes: Some(7.0) };
    let whole = watch.beginning(false).unwrap().followed_by(later);
    // 1 s and 40 bytes for each 20 rows.
    assert_eq!((whole.seconds, whole.bytes), (2.0 + 5.0 + 5.0, Some(100.0 + 200.0 + 7.0)));
    // One report alone, and a plan that took more while it was made.
    watch.marks().planned = Some((at(2.0, 100.0), Some(1000.0)));
    watch.marks().first = None;
    let whole = watch.beginning(false).unwrap().followed_by(later);
    assert_eq!(whole.bytes, Some(1000.0));
    assert!((whole.seconds - (2.0 + 2.0 / 0.3 + 5.0)).abs() < 1e-12);
    // The first hundred rows of a thousand take a fifth of all, where all pairs are near.
    watch.marks().first = None;
    watch.marks().last = Some((100, at(21.0, 100.0)));
    watch.marks().rows = 1000;
    let found = watch.beginning(true).unwrap().followed_by(later).seconds;
    assert!((100.0..190.0).contains(&(found - 7.0)), "{found}");
    watch.marks().planned = None;
    assert!(watch.beginning(false).is_none());
}

#[test]
fn a_solve_that_is_not_ended_early_goes_on_after_its_near_field() {
    let watch = watch(Until::End);
    assert!(watch.took().1.is_none());
    for (stage, done) in [(Stage::Plan, 1), (Stage::NearField, 4), (Stage::Solve, 1)] {
        assert!(watch.advance(stage, done, 4));
    }
    let (whole, later) = watch.took();
    let later = later.unwrap();
    assert!(later.seconds >= 0.0 && later.seconds <= whole.seconds);
    assert!(!watch.has_stopped());
}
