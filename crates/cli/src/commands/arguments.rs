//! Values of options that several commands share.

/// A tolerance that the sums and solvers are built for.
pub(super) fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (1e-12..=0.1).contains(&value) => Ok(value),
        Ok(_) => Err("must be from 1e-12 to 0.1".to_owned()),
        Err(_) => Err("must be a number such as 1e-6".to_owned()),
    }
}

/// GiB to bytes.
pub(super) fn parse_gibibytes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e9 => Ok((value * f64::from(1 << 30)) as u64),
        _ => Err("must be a number of GiB greater than 0".to_owned()),
    }
}

/// A length or another quantity that must be greater than zero.
pub(super) fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        Ok(_) => Err("must be greater than 0".to_owned()),
        Err(_) => Err("must be a number".to_owned()),
    }
}
