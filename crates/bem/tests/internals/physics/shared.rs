//! Excitations shared by ranks.

use std::ops::Range;

use bem::internals::{gather_responses, local_excitations};
use bem::{
    Electrostatics, Error, Excitation, Group, Images, Media, Method, NoProgress, Ranks,
    SolveOptions, StopReason, electrostatics,
};
use mesh::generate::{Resolution, Sphere, SphereBase};

const REASONS: [StopReason; 5] = [
    StopReason::Converged,
    StopReason::MaxIterations,
    StopReason::Stagnation,
    StopReason::Breakdown,
    StopReason::Nan,
];

/// The answer of a solve of a few triangles, with other numbers in it.
fn answer(of: Range<usize>) -> Electrostatics {
    let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(8));
    let mesh = Sphere { radius: 1.0, base, resolution }.build().unwrap();
    let media = Media {
        conductor: &vec![Some(0); mesh.triangles.len()],
        conductors: 1,
        permittivity: &vec![[1.0; 2]; mesh.triangles.len()],
        images: &Images::default(),
        bodies: &[],
    };
    let excitation = Excitation::default().potentials(vec![1.0]);
    let options = SolveOptions::default().method(Method::Dense);
    let mut answer = electrostatics(&mesh, media, &[excitation], &options, &NoProgress).unwrap();
    let solved = answer.responses.pop().unwrap();
    let response = |k: usize| {
        let mut response = solved.clone();
        response.potentials = vec![k as f64, -0.0];
        response.charge = vec![f64::NAN, 1.0 / k as f64, 3.0];
        response.at_corners = vec![[k as f64, 1.0, 2.0]; k];
        response.free_charge = vec![];
        response.conductor_charge = vec![1e-300];
        response.iterations = k;
        response.reason = REASONS[k % REASONS.len()];
        response.relative_residual = 1e-7;
        response.history = vec![1.0; k];
        response
    };
    answer.fmm_tolerance = (of.start > 2).then_some(1e-7);
    answer.fmm_error_sampled = (of.start < 2).then_some(1e-7);
    answer.fmm_error_potential = Some(of.start as f64);
    answer.gauss_defect = 1.0 / (of.start + 1) as f64;
    answer.timings.solve = of.start as f64;
    answer.responses = of.map(response).collect();
    answer
}

#[test]
fn shares_are_even_and_come_together_bit_by_bit() {
    for ranks in 1..=6 {
        let found = comm::run(ranks, |group| {
            let own = local_excitations(&**group, 5);
            assert!(own.len() <= 5_usize.div_ceil(ranks) && own.len() >= 5 / ranks);
            let own = (!own.is_empty()).then(|| answer(own));
            gather_responses::<Error>(&**group, Ok(own)).unwrap()
        });
        let mut found = found.into_iter();
        let all = found.next().flatten().unwrap();
        assert!(found.all(|other| other.is_none()));
        let expected = answer(0..5);
        assert_eq!(format!("{:?}", all.responses), format!("{:?}", expected.responses));
        assert_eq!(all.gauss_defect, 1.0);
        assert_eq!(all.fmm_error_sampled, Some(1e-7));
        let last = comm::run(ranks, |group| local_excitations(&**group, 5).start.min(4));
        assert_eq!(all.timings.solve, *last.iter().max().unwrap() as f64);
    }
}

#[test]
fn a_rank_that_fails_fails_all() {
    let found = comm::run(3, |group| {
        let own = if group.rank() == 1 { Err(Error::Interrupted) } else { Ok(None) };
        gather_responses(&**group, own).unwrap_err().to_string()
    });
    assert_eq!(found[1], "interrupted");
    assert_eq!(found[0], found[2]);
    assert!(found[0].contains("rank 1: interrupted"), "{}", found[0]);
}

/// Each rank offers another value, and all get that of the first, bit by bit.
#[test]
fn all_ranks_have_the_value_of_the_first() {
    let found = comm::run(3, |group| {
        let own = vec![group.rank() as f64, -0.0, f64::NAN, 1e-300];
        let ranks = Ranks(Group::clone(group));
        let known: Vec<f64> = ranks.of_first(&own).unwrap();
        let text: Option<String> = ranks.of_first(&(group.rank() == 0).then_some("one")).unwrap();
        (known.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), text)
    });
    let first = [0.0, -0.0, f64::NAN, 1e-300].map(f64::to_bits).to_vec();
    assert_eq!(found, vec![(first, Some("one".to_owned())); 3]);
}

/// What the first rank sends may be no value of the type that another expects.
#[test]
fn a_message_that_cannot_be_read_is_an_error() {
    let found = comm::run(2, |group| {
        let ranks = Ranks(Group::clone(group));
        ranks.of_first::<String>(&0xff_u8).unwrap_err().to_string()
    });
    assert!(found.iter().all(|error| error.contains("rank 0: its message cannot be read")));
}
