use bem::{Progress, Stage};
use farad_cli::internals::output::Output;
use farad_cli::internals::progress::Bars;

#[test]
fn quiet_runs_draw_nothing_and_go_on() {
    let bars = Bars::new(&Output { quiet: true, ..Output::default() });
    assert!(bars.advance(Stage::Solve, 1, 0));
    bars.residual(1, 0.5);
    assert!(bars.current.lock().unwrap().is_none());
}
