use mesh::internals::prisms::cut::{Line, cut, cut_within, is_split};
use mesh::prisms::Fault;

fn is_apart(lines: &[Line]) -> bool {
    (0..lines.len())
        .all(|k| (0..k).all(|l| !(is_split(lines[k], lines[l]) && is_split(lines[l], lines[k]))))
}

#[test]
fn crossings_of_wires_are_exact() {
    let across = (0..3).map(|k| [[-1.0, 10.0 * f64::from(k)], [31.0, 10.0 * f64::from(k)]]);
    let up = (0..3).map(|k| [[10.0 * f64::from(k), 30.0], [10.0 * f64::from(k), 0.0]]);
    let pieces = cut(across.chain(up)).unwrap();
    // 4 pieces of each line across; the lines up end on the first of these.
    assert_eq!(pieces.len(), 12 + 9);
    assert!(pieces.iter().flatten().flatten().all(|x| x.fract() == 0.0));
}

#[test]
fn zeros_of_either_sign_are_one_place() {
    let other = [[-0.0, 0.0], [2.0, 5.0]];
    let lines =
        [[[-0.0, 0.0], [1.0, 0.0]], other, [[1.0, -0.0], [0.0, -0.0]], [[0.0; 2], [-0.0, 0.0]]];
    assert_eq!(cut(lines.into_iter()).unwrap(), [[[0.0; 2], [1.0, 0.0]], [[0.0; 2], [2.0, 5.0]]]);
}

#[test]
fn many_slanted_lines_have_ends_alone_in_common() {
    let angle = |k: usize| 1e-3 * (k * k % 17) as f64 + 0.02 * k as f64;
    let line = |k: usize| {
        let (sine, cosine) = angle(k).sin_cos();
        let far = 10_000.0 + 37.0 * k as f64;
        let round = |x: f64| x.round();
        let aside = 13.0 * k as f64;
        let low = [round(-far * cosine) + aside, round(-far * sine)];
        [low, [round(far * cosine), round(far * sine)]]
    };
    let pieces = cut((0..60).map(line)).unwrap();
    assert!(pieces.len() > 1000 && is_apart(&pieces), "{}", pieces.len());
}

#[test]
fn crossings_that_do_not_settle_are_reported_with_a_place() {
    let cross = [[[0.0, 0.0], [4.0, 2.0]], [[0.0, 2.0], [4.0, 0.0]]];
    assert_eq!(cut_within(2, cross.into_iter()).map(|pieces| pieces.len()), Ok(4));
    let fault = cut_within(1, cross.into_iter()).unwrap_err();
    assert_eq!(fault, Fault::Crossings { at: [2.0, 1.0] });
    let message = "outlines cross too often, or at too small an angle, around [2.0, 1.0]";
    assert_eq!(fault.to_string(), message);
}

#[test]
fn lines_that_nearly_cover_each_other_become_one() {
    let third = [300.0 / 3.0 + 1e-11, 100.0 / 3.0];
    let pieces = cut([[[0.0, 0.0], [300.0, 100.0]], [[0.0, 0.0], third]].into_iter()).unwrap();
    assert_eq!(pieces, [[[0.0, 0.0], third], [third, [300.0, 100.0]]]);
}
