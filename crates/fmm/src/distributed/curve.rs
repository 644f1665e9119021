//! Even distribution of points along the curve, before their work is known.

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
