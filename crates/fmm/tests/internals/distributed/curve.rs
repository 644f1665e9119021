use fmm::distributed::along_curve;
use samples::{Distribution, Random};

#[test]
fn shares_are_even_and_hang_together() {
    let points = Distribution::Cube.points(1000, &mut Random::new(3));
    for ranks in [1, 3, 7, 1000, 2000] {
        let owners = along_curve(&points, ranks);
        let mut counts = vec![0; ranks];
        owners.iter().for_each(|&owner| counts[owner as usize] += 1);
        let (least, most) = (1000 / ranks, 1000_usize.div_ceil(ranks));
        assert!(counts.iter().all(|&count| (least..=most).contains(&count)), "{ranks}");
    }
    // Half of the cube each, along one of the axes, but for points that the cube about them is
    // not halved between.
    let owners = along_curve(&points, 2);
    let misplaced = [0, 1, 2].map(|axis| {
        let is_upper = points.iter().map(|x| x[axis] > 0.5);
        is_upper.zip(&owners).filter(|(upper, owner)| *upper != (**owner == 1)).count()
    });
    assert!(misplaced.iter().any(|&count| count < 50), "{misplaced:?}");
    assert!(along_curve(&[], 3).is_empty());
    assert_eq!(along_curve(&points, 0), vec![0; 1000]);
}
