//! What nodes exchange along one axis: the Gaussian, with the window's transform divided out
//! twice.

use std::f64::consts::PI;

use crate::window::Window;

/// Zeros at either end of a kernel, so that loops may read past its reach.
pub const PADDING: usize = 16;

/// exp(-36.8) is 1e-16.
const LAST_EXPONENT: f64 = 40.0;

/// Coefficients K(n), |n| <= reach, of the convolution along one axis.
#[derive(Clone, Debug)]
pub struct AxisKernel {
    /// Nodes that the convolution reaches.
    pub(crate) reach: usize,
    /// K(n) at `PADDING + reach + n`.
    pub padded: Vec<f64>,
}

impl AxisKernel {
    /// The kernel of bandwidth `bandwidth`, in squared node spacings.
    ///
    /// K(n) is the integral over |theta| <= pi of sqrt(pi bandwidth) exp(-bandwidth theta^2 / 4)
    /// cos(n theta) / (2 pi transform(theta)^2): a trapezoidal sum whose period in n is more than
    /// the reach of the kernel and of its tails.
    pub fn new(bandwidth: f64, window: &Window, reach: usize) -> Self {
        let far = (LAST_EXPONENT * bandwidth).sqrt();
        let period = (2.0 * (reach as f64 + far) + 4.0 * window.width() as f64 + 64.0).ceil();
        let last = PI.min(2.0 * (LAST_EXPONENT / bandwidth).sqrt());
        let step = 2.0 * PI / period;
        let mut kernel = vec![0.0; reach + 1];
        let mut i = 0.0;
        while i * step <= last {
            let theta: f64 = i * step;
            // Both signs of theta; its ends count once.
            let ends = i == 0.0 || 2.0 * i == period;
            let spectrum = (PI * bandwidth).sqrt() * (-0.25 * bandwidth * theta * theta).exp()
                / window.transform(theta).powi(2);
            let share = spectrum * if ends { 1.0 } else { 2.0 } / period;
            for (n, k) in kernel.iter_mut().enumerate() {
                *k += share * (n as f64 * theta).cos();
            }
            i += 1.0;
        }
        let mut padded = vec![0.0; 2 * (PADDING + reach) + 1];
        for (n, &k) in kernel.iter().enumerate() {
            padded[PADDING + reach + n] = k;
            padded[PADDING + reach - n] = k;
        }
        Self { reach, padded }
    }
}
