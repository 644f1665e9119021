//! Tables of what the matrix found.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::convergence::Order;
use super::features::FACTORS;
use super::judge::Verdict;

/// One case in words.
pub fn text(verdict: &Verdict) -> String {
    let features = verdict.features.names().join(" ");
    let mut text =
        format!("case {} in {}\n  {features}\n", verdict.index, verdict.folder.display());
    if let Some(why) = &verdict.refused {
        writeln!(text, "  refused: {why}").unwrap();
    }
    for check in verdict.checks.iter().filter(|check| check.failed()) {
        write!(text, "  {} ({}):", check.name, check.method).unwrap();
        for (quantity, ratio) in check.ratios.iter().filter(|(_, ratio)| **ratio > 1.0) {
            write!(text, " {quantity:?} {ratio:.1e}").unwrap();
        }
        writeln!(text, " {}", check.message.as_deref().unwrap_or_default()).unwrap();
    }
    text
}

#[derive(Clone, Debug, Default)]
struct Row {
    cases: usize,
    failed: usize,
    worst: f64,
}

impl Row {
    fn count(&mut self, failed: bool, worst: f64) {
        self.cases += 1;
        self.failed += usize::from(failed);
        self.worst = self.worst.max(worst);
    }
}

/// By check, by quantity, by level of each feature and by pair of features.
pub fn markdown(seed: u64, verdicts: &[Verdict], orders: &[Order], wrong: &[String]) -> String {
    let refused = verdicts.iter().filter(|verdict| verdict.refused.is_some()).count();
    let failed = verdicts.iter().filter(|verdict| verdict.failed()).count();
    let coarse = verdicts.iter().filter(|verdict| verdict.is_coarse).count();
    let mut text = format!(
        "Seed {seed}: {} cases, {failed} failed, {refused} of them refused; self-checks call the mesh of {coarse} too coarse. {} orders, {} wrong.\n\n",
        verdicts.len(),
        orders.len(),
        wrong.len()
    );
    let mut by_check: BTreeMap<String, Row> = BTreeMap::new();
    let mut by_quantity: BTreeMap<String, Row> = BTreeMap::new();
    for check in verdicts.iter().flat_map(|verdict| &verdict.checks) {
        by_check.entry(check.name.to_owned()).or_default().count(check.failed(), check.worst());
        for (quantity, ratio) in &check.ratios {
            by_quantity.entry(format!("{quantity:?}")).or_default().count(*ratio > 1.0, *ratio);
        }
    }
    let mut by_feature: BTreeMap<String, Row> = BTreeMap::new();
    let mut by_pair: BTreeMap<String, Row> = BTreeMap::new();
    for verdict in verdicts {
        let worst = verdict.checks.iter().fold(0.0f64, |m, check| m.max(check.worst()));
        let level = |k: usize| {
            let (factor, levels) = FACTORS[k];
            format!("{factor} {}", levels[verdict.features.0[k]])
        };
        for a in 0..FACTORS.len() {
            by_feature.entry(level(a)).or_default().count(verdict.failed(), worst);
            for b in a + 1..FACTORS.len() {
                let pair = format!("{}, {}", level(a), level(b));
                by_pair.entry(pair).or_default().count(verdict.failed(), worst);
            }
        }
    }
    for (heading, rows) in [
        ("check", by_check),
        ("quantity", by_quantity),
        ("feature", by_feature),
        ("pair of features", by_pair),
    ] {
        writeln!(text, "| {heading} | done | failed | worst ratio |\n|---|---|---|---|").unwrap();
        for (name, row) in rows {
            writeln!(text, "| {name} | {} | {} | {:.2} |", row.cases, row.failed, row.worst)
                .unwrap();
        }
        text.push('\n');
    }
    let mut sorted: Vec<f64> = orders.iter().map(|order| order.order).collect();
    sorted.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (sorted.first(), sorted.last()) {
        writeln!(
            text,
            "Orders on three meshes: {least:.2} to {most:.2}, median {:.2}.",
            sorted[sorted.len() / 2]
        )
        .unwrap();
    }
    wrong.iter().for_each(|wrong| writeln!(text, "{wrong}").unwrap());
    text
}

/// A line for each number that was compared, for programs.
pub fn lines(verdicts: &[Verdict]) -> String {
    let mut text = String::from("case\tcheck\tmethod\tquantity\tratio\tfeatures\n");
    for verdict in verdicts {
        let features = verdict.features.names().join(" ");
        let index = verdict.index;
        if verdict.refused.is_some() {
            writeln!(text, "{index}\trefused\t\t\tinf\t{features}").unwrap();
        }
        for check in &verdict.checks {
            let (name, method) = (check.name, check.method);
            if check.message.is_some() {
                writeln!(text, "{index}\t{name}\t{method}\tended\tinf\t{features}").unwrap();
            }
            for (quantity, ratio) in &check.ratios {
                writeln!(text, "{index}\t{name}\t{method}\t{quantity:?}\t{ratio:.2e}\t{features}")
                    .unwrap();
            }
        }
    }
    text
}
