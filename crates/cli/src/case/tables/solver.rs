//! `[solver]` and `[fmm]`: how exact results are to be, and how they are computed.

use bem::SolveOptions;
use farad::{Goal, ParseTargetError, Target, ranges};

use crate::case::choices::Overrides;
use crate::case::definition::Case;

use super::prelude::*;

/// The results that an accuracy may be asked of.
const TARGET: Spec = Spec::pattern(
    r"^\s*(all|C|energy|polarisability|C\s*\([^,]*,.*\)|(V|Q|F|probe|field)\s*\(.*\))\s*$",
    "\"all\" or [one of these](#target-of-an-accuracy)",
);

table! {
    /// `[solver]`.
    SolverTable = "solver";
    @written_last ["tolerance", "method", "density", "restart", "max_iterations"];
    tolerance: f64 = TOLERANCE, or("1e-6"),
        "relative residual to which each conductor's equations are solved, in the area-scaled norm";
    accuracy: f64 = Spec::within(&ranges::ACCURACY), or("none"),
        "`farad solve` and `farad batch` refine the mesh, with ions the surfaces of molecules, until the error bars are this \
         short; `tolerance` then follows from it. Other commands take the mesh as it is";
    accuracy_of: String = TARGET, or("`\"all\"`"), "the numbers that must reach the accuracy";
    max_time: f64 = POSITIVE.said("number of seconds"), or("none"),
        "with `accuracy`: no mesh is started that would likely finish later; the last state reached is written, marked \
         `accuracy_not_reached`";
    nets: Names = NAMES, or("all"),
        "only these conductors are excited, and the capacitance matrix has their columns only ([below](#chosen-nets)); `*` \
         stands for any characters";
    error_bars: bool = BOOL, or("true"),
        "whether error bars are computed, for some tenths of the time of a solve";
    method: bem::Method = Spec::choice(bem::Method::WORDS), or("auto"),
        "`fmm`: GMRES over the fast multipole method; `dense`: a full matrix, factorised; `auto`: the faster of both";
    density: bem::Density = Spec::choice(bem::Density::WORDS),
        or("constant; linear for an accuracy below 5e-3, or of films, forces, fields or polarisabilities"),
        "how charge may vary over a triangle: linear densities take three times the unknowns of a mesh, and far fewer \
         triangles for digits beyond the third ([Linear densities](user-guide.md#linear-densities))";
    restart: usize = Spec::integer(2, 1000), or("60"), "Krylov vectors before GMRES restarts";
    max_iterations: usize = Spec::integer(1, 100_000), or("200"),
        "iterations after which a solve is stopped";
}

table! {
    /// `[fmm]`.
    FmmTable = "fmm";
    tolerance: f64 = TOLERANCE, or("0.3 times the solver's"),
        "relative L2 error of the fast sums, for charges of random sign";
}

/// The numbers that an accuracy is asked of.
pub(crate) fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: ParseTargetError| error.to_string())
}

impl SolverTable {
    /// The goal of a case, with the command line's over the file's.
    pub(in crate::case) fn goal(&self, top: &Section<'_>, overrides: &Overrides) -> Option<Goal> {
        let target = self.accuracy_of.value.as_ref().and_then(|text| match parse_target(text) {
            Ok(target) => Some(target),
            Err(why) => {
                let (place, message) =
                    (self.accuracy_of.span.clone(), format!("accuracy_of {why}"));
                top.report(Defect::new(Sort::Value, place, message));
                None
            }
        });
        Some(Goal {
            accuracy: overrides.accuracy.or(self.accuracy.value)?,
            target: overrides.accuracy_target.clone().or(target).unwrap_or_default(),
            max_seconds: overrides.max_seconds.or(self.max_time.value),
        })
    }

    /// The options of solves, with the command line's over the file's.
    pub(in crate::case) fn options(
        &self,
        fmm: &FmmTable,
        overrides: &Overrides,
        has_ions: bool,
    ) -> SolveOptions {
        let usual = SolveOptions::default();
        let for_accuracy = || {
            let accuracy = overrides.accuracy.or(self.accuracy.value);
            // With ions most of the error is that of facets, whatever the density.
            let of_file = || self.accuracy_of.value.as_ref()?.parse().ok();
            let target = overrides.accuracy_target.clone().or_else(of_file).unwrap_or_default();
            let density = |accuracy: f64| farad::density_for(accuracy, &target);
            accuracy.filter(|_| !has_ions).map_or(usual.density, density)
        };
        SolveOptions::default()
            .tolerance(overrides.tolerance.or(self.tolerance.value).unwrap_or(usual.tolerance))
            .method(overrides.method.or(self.method.value).unwrap_or(bem::Method::Auto))
            .density(overrides.density.or(self.density.value).unwrap_or_else(for_accuracy))
            .restart(self.restart.value.unwrap_or(usual.restart))
            .max_iterations(self.max_iterations.value.unwrap_or(usual.max_iterations))
            .fmm_tolerance(fmm.tolerance.value)
    }

    /// The table of a case.
    pub(in crate::case) fn of(case: &Case) -> Self {
        let Case { description, options, goal, .. } = case;
        let goal = goal.as_ref();
        let nets = (!description.nets.is_empty()).then(|| Names::of(&description.nets));
        Self {
            tolerance: options.tolerance.into(),
            accuracy: goal.map(|goal| goal.accuracy).into(),
            accuracy_of: goal.map(|goal| goal.target.to_string()).into(),
            max_time: goal.and_then(|goal| goal.max_seconds).into(),
            nets: nets.into(),
            error_bars: description.error_bars.into(),
            method: options.method.into(),
            density: options.density.into(),
            restart: options.restart.into(),
            max_iterations: options.max_iterations.into(),
            ..Self::default()
        }
    }
}
