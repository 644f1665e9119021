//! Exact answers of electrostatics, as lengths and energies over 4 pi eps0.

#![allow(dead_code)] // each test target uses some of these

/// A conducting sphere of radius a under a coat of permittivity `eps` out to radius b:
/// 1/C = (1/a - 1/b)/eps + 1/b.
pub fn coated_sphere(a: f64, b: f64, eps: f64) -> f64 {
    1.0 / ((1.0 / a - 1.0 / b) / eps + 1.0 / b)
}

/// Capacitance between concentric spheres of radii a < b with permittivity `eps` between them.
pub fn concentric_spheres(a: f64, b: f64, eps: f64) -> f64 {
    eps * a * b / (b - a)
}

/// Dipole moment over the field, of a sphere of radius a and permittivity `eps` in vacuum.
pub fn sphere_polarisability(a: f64, eps: f64) -> f64 {
    a.powi(3) * (eps - 1.0) / (eps + 2.0)
}

/// Solvation energy q^2/2a (1/outside - 1/inside) of a charge at the centre of a sphere (Born, Z.
/// Phys. 1 (1920) 45).
pub fn born(q: f64, a: f64, inside: f64, outside: f64) -> f64 {
    0.5 * q * q / a * (1.0 / outside - 1.0 / inside)
}

/// Solvation energy of charges (q, position) in a sphere of radius a around the origin, by the
/// series of Kirkwood (J. Chem. Phys. 2 (1934) 351) without salt:
///
/// E = 1/2 sum_ij q_i q_j / (eps_in a) sum_n (n + 1)(eps_in - eps_out) / (n eps_in + (n + 1)
/// eps_out) (r_i r_j / a^2)^n P_n(cos)
pub fn kirkwood(charges: &[(f64, [f64; 3])], a: f64, inside: f64, outside: f64) -> f64 {
    let dot = |x: &[f64; 3], y: &[f64; 3]| x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    let mut energy = 0.0;
    for (q, x) in charges {
        for (p, y) in charges {
            let (rx, ry) = (dot(x, x).sqrt(), dot(y, y).sqrt());
            let t = rx * ry / (a * a);
            let cosine = if rx * ry > 0.0 { dot(x, y) / (rx * ry) } else { 1.0 };
            let (mut now, mut before, mut power) = (1.0, 0.0, 1.0);
            for n in 0..400 {
                let m = f64::from(n);
                let factor = (m + 1.0) * (inside - outside) / (m * inside + (m + 1.0) * outside);
                energy += 0.5 * q * p / (inside * a) * factor * power * now;
                power *= t;
                (now, before) = (((2.0 * m + 1.0) * cosine * now - m * before) / (m + 1.0), now);
            }
        }
    }
    energy
}

/// Potential at x outside of a sphere around the origin of charges (q, position) inside, q over 4
/// pi eps0 (Kirkwood, as above): the radius of the sphere drops out.
pub fn kirkwood_outside(
    charges: &[(f64, [f64; 3])],
    x: [f64; 3],
    inside: f64,
    outside: f64,
) -> f64 {
    let dot = |x: &[f64; 3], y: &[f64; 3]| x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    let r = dot(&x, &x).sqrt();
    let mut potential = 0.0;
    for (q, y) in charges {
        let ry = dot(y, y).sqrt();
        let cosine = if ry > 0.0 { dot(&x, y) / (r * ry) } else { 0.0 };
        let (mut before, mut legendre, mut power) = (0.0, 1.0, 1.0 / r);
        for n in 0..400 {
            let n = f64::from(n);
            potential +=
                q * (2.0 * n + 1.0) / (inside * n + outside * (n + 1.0)) * power * legendre;
            let next = ((2.0 * n + 1.0) * cosine * legendre - n * before) / (n + 1.0);
            (before, legendre) = (legendre, next);
            power *= ry / r;
        }
    }
    potential
}

/// C11 and C12 of two spheres of radius 1 at this distance (Maxwell, Treatise, section 173;
/// Smythe): with cosh mu = d/2, C11 = sinh mu sum 1 / sinh (2n - 1) mu and C12 = -sinh mu sum
/// 1 / sinh 2n mu.
pub fn two_spheres(distance: f64) -> [f64; 2] {
    let mu = (distance / 2.0).acosh();
    let sum = |first: i32| -> f64 {
        (0..2000)
            .map(|n| f64::from(first + 2 * n))
            .take_while(|k| k * mu < 700.0)
            .map(|k| 1.0 / (k * mu).sinh())
            .sum()
    };
    [mu.sinh() * sum(1), -mu.sinh() * sum(2)]
}

/// Capacitance of a sphere of radius a whose centre is a height h over a grounded plane, and the
/// force away from it at potential 1: the plane makes it one of two spheres at opposite potentials,
/// and the force is half the slope of C.
pub fn sphere_over_plane(a: f64, h: f64) -> (f64, f64) {
    let capacitance = |h: f64| {
        let [c11, c12] = two_spheres(2.0 * h / a);
        a * (c11 - c12)
    };
    let step = 1e-5 * h;
    (capacitance(h), (capacitance(h + step) - capacitance(h - step)) / (4.0 * step))
}
