//! The report of a sum for people.

use super::report::{Report, Stages};
use crate::report::units;

impl Report {
    /// Lines of text.
    pub(crate) fn text(&self) -> String {
        let Stages { p2m, m2m, m2l, l2l, l2p, m2p, p2p } = self.stages;
        let targets = if self.targets == self.n {
            String::new()
        } else {
            format!(" at {} targets", units::count(self.targets as u64))
        };
        let (evaluated, evaluation) = if self.mode == "treecode" {
            (format!(", {} M2P", units::count(self.m2p_count)), format!(", M2P {m2p:.4}"))
        } else {
            Default::default()
        };
        let points = self.distribution.map_or_else(String::new, |name| format!(" ({name})"));
        let memory = self.peak_memory_bytes.map_or("not known".to_owned(), units::bytes);
        let near = if self.near_precision == self.precision {
            String::new()
        } else {
            format!(" (near pairs {})", self.near_precision)
        };
        let of_gradient = self.gradient_l2_error.map_or_else(String::new, |error| {
            format!("; potential {:.2e}, gradient {error:.2e}", self.potential_l2_error)
        });
        let per_second = self.n as f64 / self.apply_s;
        let first = if self.first_apply_s > self.apply_s {
            format!("; the first {}", units::duration(self.first_apply_s))
        } else {
            String::new()
        };
        let gpu = self.gpu.as_ref().map_or_else(String::new, |gpu| {
            format!(
                "\n gpu      {}: {} with data in its memory, tree and lists {}\n\
                 \x20          {} of its memory, {} while it was planned",
                gpu.name,
                units::duration(gpu.apply_s),
                units::duration(gpu.tree_s),
                units::bytes(gpu.memory_bytes),
                units::bytes(gpu.planning_bytes),
            )
        });
        let ranks = self.ranks.as_ref().map_or_else(String::new, |ranks| {
            format!(
                "\n  ranks    {}, messages by {} through the host's memory; the busiest {:.2} times the mean\n\
                 \x20          most of one: {} sources and {} expansions of others, {} sent for each density\n\
                 \x20          strengths to their ranks and sums back {}{}",
                ranks.count,
                ranks.messages,
                ranks.imbalance,
                units::count(ranks.halo_sources),
                units::count(ranks.halo_multipoles),
                units::bytes(ranks.bytes_sent),
                units::duration(ranks.routes_s),
                ranks.exchange.map_or_else(String::new, |how| format!("\n  exchange {how}")),
            )
        });
        let warnings: String = self.warnings.iter().map(|w| format!("\n  warning  {w}")).collect();
        format!(
            "{} points{points}{targets}, {}, {} precision{near}, {} with {} threads\n\
             \x20 tree     depth {}, leaves of at most {}\n\
             \x20 orders   p = {}, mean p' = {:.2}\n\
             \x20 pairs    {} M2L ({:.1} per box){evaluated}, {} P2P\n\
             \x20 setup    {}\n\
             \x20 apply    {} ({per_second:.2e} points/s{first})\n\
             \x20          P2M {p2m:.4}, M2M {m2m:.4}, M2L {m2l:.4}, L2L {l2l:.4}, L2P {l2p:.4}{evaluation}, P2P {p2p:.4} s\n\
             \x20 error    {:.2e} relative L2 against direct sums (asked for {:.1e}){of_gradient}\n\
             \x20 memory   {memory} at the peak{gpu}{ranks}{warnings}",
            units::count(self.n as u64),
            self.mode,
            self.precision,
            self.backend,
            self.threads,
            self.depth,
            self.leaf_size,
            self.p,
            self.mean_p_prime,
            units::count(self.m2l_count),
            self.m2l_per_box,
            units::count(self.p2p_pairs),
            units::duration(self.setup_s),
            units::duration(self.apply_s),
            self.relative_l2_error,
            self.tolerance,
        )
    }
}
