//! What planning takes of a GPU's memory, and plans whose coordinates are never all there.

use std::io::Write;

use super::{boxes, gpu, relative, uneven};
use fmm::internals::geometry::Points;
use fmm::internals::gpu::device_plan::DevicePlan;
use fmm::internals::gpu::engine::Engine;
use fmm::internals::gpu::estimate::Planned;
use fmm::internals::gpu::{far_matrices, tree};
use fmm::{Backend, Densities, Info, Options, Potentials, Precision};
use samples::{ChargeKind, Distribution, Random};

const OPTIONS: fn() -> Options = || Options::default().tolerance(1e-5).backend(Backend::Cuda);

#[test]
fn planning_takes_little_more_than_the_plan_and_as_much_as_expected() {
    let Some(device) = gpu("planning_takes_little_more_than_the_plan_and_as_much_as_expected")
    else {
        return;
    };
    for (precision, tolerance) in [(Precision::Single, 1e-5), (Precision::Double, 1e-8)] {
        let options = OPTIONS().tolerance(tolerance);
        for distribution in [Distribution::Cube, Distribution::Sphere] {
            let points = distribution.points(1 << 22, &mut Random::new(3));
            let (limit, free) = (far_matrices::limit(&device), device.free_memory().unwrap());
            let planned = Planned { precision, options: &options, limit, free };
            let (need, _) = planned.of(&points, None);
            for chunk in [None, Some(1 << 19)] {
                let mut info = Info::default();
                let engine = Engine::new(
                    Points { sources: &points, targets: None },
                    &options,
                    precision,
                    chunk,
                    &mut info,
                )
                .unwrap();
                let (plan, planning) = (info.memory_bytes, info.gpu.unwrap().planning_bytes);
                let of = &engine.plan;
                let matrices = of.expansions.matrix_bytes();
                let per_point = |bytes: u64| bytes as f64 / points.len() as f64;
                writeln!(
                    std::io::stderr(),
                    "  {precision:?} {distribution:?} {chunk:?}: bytes per point: plan {:.2} (expected {:.2}), \
                     planning {:.2} (expected {:.2}), matrices {:.2} (expected {:.2}), p {}; {} boxes, far {:.2}, entries {:.2}, items {}, close {:.2}",
                    per_point(plan),
                    per_point(need.plan()),
                    per_point(planning),
                    per_point(need.planning()),
                    per_point(matrices),
                    per_point(need.matrices),
                    info.truncation_number,
                    boxes(&of.tree),
                    per_point(of.lists.far.bytes()),
                    per_point(of.lists.entries.bytes()),
                    of.lists.items.len(),
                    per_point(of.close.pairs.bytes()),
                )
                .unwrap();
                let ratio = planning as f64 / plan as f64;
                assert!(ratio < 1.3, "{distribution:?}: {ratio}");
                // At this size matrices, whose number hardly grows with the points, are much of a
                // plan: all else is as expected, and they are not many more.
                let expected = need.plan() - need.matrices + matrices;
                let at_most = need.before.max(expected);
                for (expected, found) in [(expected, plan), (at_most, planning)] {
                    let rest = found - matrices;
                    let ratio = (expected - matrices) as f64 / rest as f64;
                    assert!((ratio - 1.0).abs() < 0.15, "{distribution:?} {chunk:?}: {ratio}");
                }
                let ratio = matrices as f64 / need.matrices as f64;
                assert!(ratio < 1.5, "{distribution:?}: {ratio} of the matrices expected");
            }
        }
    }
}

/// Targets, of which some are sources.
fn targets(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let mut targets = Distribution::Sphere.points(3000, &mut Random::new(13));
    targets.extend_from_slice(&points[..500]);
    targets
}

#[test]
fn coordinates_some_at_a_time_give_the_same_plan() {
    if gpu("coordinates_some_at_a_time_give_the_same_plan").is_none() {
        return;
    }
    let mut points = uneven(20_000, 4);
    // Close pairs, far apart in the caller's order.
    let twins: Vec<[f64; 3]> = points[..2000].iter().map(|[x, y, z]| [*x, y + 1e-7, *z]).collect();
    points.extend(twins);
    let targets = targets(&points);
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(5));
    for precision in [Precision::Single, Precision::Double] {
        for targets in [None, Some(&targets[..])] {
            let planned = |chunk: Option<usize>| {
                let mut info = Info::default();
                let mut engine = Engine::new(
                    Points { sources: &points, targets },
                    &OPTIONS(),
                    precision,
                    chunk,
                    &mut info,
                )
                .unwrap();
                let mut potential = vec![0.0; targets.map_or(points.len(), <[_]>::len)];
                let densities = Densities { charges: Some(&charges), dipoles: None };
                let outputs = Potentials { potential: Some(&mut potential), gradient: None };
                engine.apply(1, densities, outputs).unwrap();
                (engine, potential)
            };
            let (whole, expected) = planned(None);
            let (parts, found) = planned(Some(777));
            let (whole, parts) = (&whole.plan, &parts.plan);
            assert_eq!(parts.side, whole.side);
            let cells = |tree: &tree::Tree| tree.cells.to_vec().unwrap();
            assert_eq!(cells(&parts.tree), cells(&whole.tree));
            let order = |order: &tree::MortonOrder| order.index.to_vec().unwrap();
            assert_eq!(order(&parts.source_order), order(&whole.source_order));
            assert_eq!(order(parts.target_order()), order(whole.target_order()));
            let of_sources = |plan: &DevicePlan| plan.points.sources.bytes.to_vec().unwrap();
            assert!(of_sources(parts) == of_sources(whole));
            let of_targets = |plan: &DevicePlan| plan.points.targets().bytes.to_vec().unwrap();
            assert!(of_targets(parts) == of_targets(whole));
            let close = |plan: &DevicePlan| {
                let mut pairs = plan.close.words().unwrap();
                pairs.sort_unstable();
                pairs
            };
            let (pairs, of_whole) = (close(parts), close(whole));
            assert_eq!(pairs.len(), of_whole.len());
            assert!(pairs == of_whole);
            // Each twin with its point both ways, or each target with its source and the source's
            // twin; in double precision hardly any others are close.
            let least = if targets.is_some() { 1000 } else { 4000 };
            assert!(pairs.len() >= least, "{precision:?}: {} of {least} pairs", pairs.len());
            // Atomic additions come in any order.
            let rounding = if precision == Precision::Single { 2e-6 } else { 1e-14 };
            let error = relative(&found, &expected);
            assert!(error < rounding, "{precision:?}: {error:e}");

            // Displacements are the rounded differences of what the caller gave.
            let (sources, places) = (order(&whole.source_order), order(whole.target_order()));
            for words in &pairs {
                let [target, source] = [places[words[0] as usize], sources[words[1] as usize]];
                let at = targets.unwrap_or(&points)[target as usize];
                let from = points[source as usize];
                for axis in 0..3 {
                    let exact = (at[axis] - from[axis]) / whole.side;
                    let found = if precision == Precision::Single {
                        assert_eq!(words[2 + axis], (exact as f32).to_bits());
                        continue;
                    } else {
                        u64::from(words[2 + 2 * axis]) | u64::from(words[3 + 2 * axis]) << 32
                    };
                    assert_eq!(found, exact.to_bits());
                }
            }
        }
    }
}
