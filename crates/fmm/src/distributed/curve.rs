//! Points dealt out evenly before anything is known of the work that they make.

use crate::tree::{MortonOrder, Root};

/// The rank of each point where `ranks` of them get consecutive points along the Morton curve in
/// the smallest cube about all, as many each: about those that a [`Plan`](super::Plan) deals them
/// to, so that what belongs to them need not travel far.
///
/// With no ranks at all, everything is of rank 0.
pub fn along_curve(points: &[[f64; 3]], ranks: usize) -> Vec<u32> {
    let order = MortonOrder::new(&Root::around(&[points]), points);
    let n = points.len().max(1);
    let mut owners = vec![0; points.len()];
    for (place, &point) in order.index.iter().enumerate() {
        owners[point as usize] = (place * ranks / n) as u32;
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
