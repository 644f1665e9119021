use fgt::Options;
use fgt::internals::gpu::Precision;
use fgt::internals::node_blocks::Layout;
use fgt::internals::tuning::{Costs, Processor, Work};
use fgt::internals::window::{Shape, Window};

fn costs(processor: Processor, gradient: bool, densities: usize) -> Costs {
    let options = Options::default().gradient(gradient).densities(densities);
    let window = Window::new(Shape::of(options.tolerance, gradient), options.tolerance);
    let layout = Layout::new(3, window.width(), window.padded());
    let (layout, window, options) = (&layout, &window, &options);
    let work = Work { layout, window, reach: 12, channels: 1, rough: true, options };
    Costs::new(processor, work)
}

#[test]
fn gradients_and_densities_cost_more() {
    let gpus = [Precision::Single, Precision::Double].map(Processor::Gpu);
    let cores = [1, 4, 8].map(|lanes| Processor::Core { lanes });
    for processor in gpus.into_iter().chain(cores) {
        for densities in [1, 4, 16] {
            let [values, both] = [false, true].map(|on| costs(processor, on, densities));
            assert!(values.pair > 0.0 && both.pair > values.pair, "{processor:?}");
            assert!(both.interpolate > values.interpolate, "{processor:?}");
            let more = costs(processor, true, densities + 1);
            assert!(more.pair > both.pair && more.spread > both.spread, "{processor:?}");
            assert!(more.input > both.input && more.buffer > both.buffer, "{processor:?}");
        }
    }
}
