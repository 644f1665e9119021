//! When looser plans of a fast sum are made and taken.

use bem::internals::solve::{Plan, PlanSchedule};
use bem::{Error, InexactBudget};

fn budget(factor: f64, products: usize) -> Option<InexactBudget> {
    Some(InexactBudget { factor, products })
}

#[test]
fn plans_are_made_where_they_are_allowed_and_repaid() {
    let points: Vec<[f64; 3]> =
        (0..2000).map(|i| [0.1, 0.7, 1.3].map(|c| (c * (i * i) as f64).sin())).collect();
    let make = move |tolerance: f64| -> Result<Plan, Error> {
        let backend = fmm::Backend::Cpu;
        // Leaves so small that there are translations.
        let leaf_size = Some(20);
        let options =
            fmm::Options::default().tolerance(tolerance).backend(backend).leaf_size(leaf_size);
        Ok(Plan::new(&comm::alone(), &points, None, &options)?)
    };
    let mut ladder = PlanSchedule::new(make(3e-7).unwrap(), 3e-7, make.clone());
    // Plans are distinguished by the mean p', in thousandths.
    let order = |plan: &Plan| (1000.0 * plan.info().mean_truncation_number) as usize;
    let tight = order(ladder.tight());
    let [single, loose] = [2.5e-6, 5e-5].map(|tolerance| order(&make(tolerance).unwrap()));
    assert!(tight > single && single > loose, "{tight} {single} {loose}");
    // What a product has of budget, the products left and columns; the looser plan then, and
    // which plan is taken.
    let steps: [(Option<InexactBudget>, usize, Option<f64>, usize); 11] = [
        (budget(1.0, 10), 1, None, tight),
        (budget(8.0, 10), 1, None, tight),
        (budget(10.0, 2), 1, None, tight),
        (budget(10.0, 2), 2, Some(2.5e-6), single),
        (None, 2, Some(2.5e-6), tight),
        (budget(150.0, 4), 1, Some(2.5e-6), single),
        (budget(200.0, 2), 1, Some(2.5e-6), single),
        (budget(200.0, usize::MAX), 8, Some(5e-5), loose),
        (budget(1e9, 10), 8, Some(5e-5), loose),
        // The next columns.
        (budget(1.0, 10), 2, Some(5e-5), tight),
        (budget(10.0, 10), 2, Some(2.5e-6), single),
    ];
    for (budget, columns, looser, taken) in steps {
        assert_eq!(order(ladder.for_step(budget, columns).unwrap()), taken, "{budget:?}");
        assert_eq!(ladder.looser_tolerance(), looser, "{budget:?}");
    }
    // A tighter plan asks for more budget, and has levels between.
    ladder.set_tight(make(3e-9).unwrap(), 3e-9);
    assert!(order(ladder.for_step(budget(10.0, 1), 1).unwrap()) > tight);
    ladder.for_step(budget(200.0, 3), 1).unwrap();
    assert_eq!(ladder.looser_tolerance(), Some(5e-7));

    let mut fixed = PlanSchedule::fixed(make(3e-7).unwrap());
    assert_eq!(order(fixed.for_step(budget(1e9, 9), 8).unwrap()), tight);
}
