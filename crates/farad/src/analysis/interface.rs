//! The interface of a result to the rest of the crate: its request, the faults of that, the
//! excitations that it needs, and how it is computed.

use bem::{Electrostatics, Excitation, Images, Progress};

use crate::analysis::excitations;
use crate::analysis::missing::Missing;
use crate::problem::Problem;
use crate::problem::fault::{Error, Fault};
use crate::result::body::Polarisability;
use crate::result::solution::Solution;
use crate::result::state::State;
use crate::result::warning::Warning;
use crate::scene::description::Description;

/// A result of problems; [`crate::analysis::list`] has all of them.
///
/// A solve calls these in order: [`excitations`](Self::excitations), [`find`](Self::find),
/// [`find_in_state`](Self::find_in_state), [`warnings`](Self::warnings), [`bars`](Self::bars),
/// [`conclude`](Self::conclude).
pub(crate) trait Analysis: Sync {
    /// Whether a description asks for it.
    fn is_requested(&self, description: &Description) -> bool;

    /// Its name in the fault of a description with ions, which exclude it.
    fn name_without_ions(&self) -> Option<&'static str> {
        None
    }

    /// Its name in the fault of a description that excites some nets alone, if it needs all.
    fn name_with_all_nets(&self) -> Option<&'static str> {
        None
    }

    /// Its name in the fault of surfaces in several layers, if it needs all in one.
    fn name_in_one_layer(&self) -> Option<&'static str> {
        None
    }

    /// Faults of the request, whatever the mesh is.
    fn faults(&self, _description: &Description) -> Vec<Fault> {
        Vec::new()
    }

    /// Faults of the request on this mesh.
    fn faults_on_mesh(&self, _problem: &Problem) -> Vec<Fault> {
        Vec::new()
    }

    /// The excitations that it needs in addition to each conductor at 1 V.
    fn excitations(&self, _problem: &Problem) -> Vec<Excitation> {
        Vec::new()
    }

    /// Excitations with other images than the problem's, each of which is a solve of its own. Their
    /// answers follow those to the other excitations.
    fn excitations_with_images(&self, _problem: &Problem) -> Vec<(Images, Excitation)> {
        Vec::new()
    }

    /// The result that follows from the answers.
    fn find(&self, _answers: &Answers<'_>, _results: &mut Results) -> Result<(), Error> {
        Ok(())
    }

    /// Adds to the state what follows from its charges.
    fn find_in_state(&self, _driven: &Driven<'_>, _state: &mut State) -> Result<(), Error> {
        Ok(())
    }

    /// Warnings about the result.
    fn warnings(&self, _problem: &Problem, _results: &Results) -> Vec<Warning> {
        Vec::new()
    }

    /// The charge that its bars are made from.
    fn charge_of_bars(&self) -> ChargeOfBars {
        ChargeOfBars::None
    }

    /// Sets its bars, from the charge that the state misses.
    fn bars(&self, _missing: &MissingInState<'_>, _state: &mut State) -> Result<(), Error> {
        Ok(())
    }

    /// The result that follows from the solution with its bars.
    fn conclude(
        &self,
        _conclusion: &Conclusion<'_>,
        _solution: &mut Solution,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Whether a refinement for the shares of films, or for other numbers, needs its
    /// [`conclude`](Self::conclude) on the last mesh alone.
    fn is_of_last_mesh(&self, _for_films: bool) -> bool {
        false
    }
}

/// Charges that the answers miss, from which bars are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChargeOfBars {
    /// None of them.
    None,
    /// The excitation of the state.
    State,
    /// The excitations of each conductor at 1 V.
    Units,
}

/// The answers to a problem's excitations.
#[derive(Clone, Copy)]
pub(crate) struct Answers<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) answer: &'a Electrostatics,
}

impl<'a> Answers<'a> {
    /// The state that the description sets; `None` without one, or if a floating potential has no
    /// value.
    pub(crate) fn driven(&self) -> Option<Driven<'a>> {
        let Self { problem, answer } = *self;
        if !problem.description.has_state() {
            return None;
        }
        let conditions = excitations::conditions(problem);
        let charges = answer.state(&conditions, excitations::driven(problem, answer))?;
        let sources = excitations::sources(problem);
        Some(Driven { problem, charges, sources, tolerance: answer.tolerance })
    }

    /// The answers to each conductor in turn at 1 V.
    pub(crate) fn units(&self) -> Vec<bem::Response> {
        self.answer.responses[..self.problem.conductors.names.len()].to_vec()
    }
}

/// The charges of a state, known to `tolerance`, and the sources that act in it.
pub(crate) struct Driven<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) charges: bem::State,
    pub(crate) sources: Excitation,
    pub(crate) tolerance: f64,
}

/// Results that follow from answers.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) state: Option<State>,
    pub(crate) polarisability: Option<Polarisability>,
    /// The answers to each conductor in turn at 1 V, if further results need them.
    pub(crate) units: Vec<bem::Response>,
}

/// The charge that a state misses, which a solve to `tolerance` has found.
pub(crate) struct MissingInState<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) missing: &'a Missing,
    pub(crate) tolerance: f64,
}

/// The input of analyses beyond a solution.
pub(crate) struct Conclusion<'a> {
    pub(crate) problem: &'a Problem,
    /// Solves another problem, with the same options.
    pub(crate) solve: &'a dyn Fn(&Problem) -> Result<Solution, Error>,
    pub(crate) progress: &'a dyn Progress,
}
