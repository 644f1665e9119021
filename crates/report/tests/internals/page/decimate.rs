use report::internals::decimate::{area, decimated};

/// A large square and a small one a hair above it, of bodies 0 and 1.
fn squares(n: usize) -> (Vec<[f64; 3]>, Vec<[u32; 3]>, Vec<i32>) {
    let (mut vertices, mut triangles, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    for (body, (side, height)) in [(1.0, 0.0), (0.01, 1e-6)].into_iter().enumerate() {
        let first = vertices.len() as u32;
        for i in 0..=n {
            for j in 0..=n {
                let place = |k: usize| side * k as f64 / n as f64;
                vertices.push([place(i), place(j), height]);
            }
        }
        let at = |i: usize, j: usize| first + (i * (n + 1) + j) as u32;
        for i in 0..n {
            for j in 0..n {
                triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
                triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
                bodies.extend([body as i32; 2]);
            }
        }
    }
    (vertices, triangles, bodies)
}

#[test]
fn few_triangles_stay_as_they_are() {
    let (vertices, triangles, bodies) = squares(3);
    let made = decimated(&vertices, &triangles, |t| bodies[t], triangles.len());
    assert_eq!((made.vertices, made.triangles, made.body), (vertices, triangles, bodies));
}

#[test]
fn bodies_stay_apart_and_keep_their_charge() {
    let (vertices, triangles, bodies) = squares(60);
    let made = decimated(&vertices, &triangles, |t| bodies[t], 1500);
    assert!(made.triangles.len() <= 1500 && made.triangles.len() > 300);
    for corners in &made.triangles {
        assert!(corners[0] != corners[1] && corners[1] != corners[2] && corners[0] != corners[2]);
    }
    // Charges go to triangles of the same body, and none is lost.
    assert!((0..triangles.len()).all(|t| made.body[made.target[t] as usize] == bodies[t]));
    for body in 0..2 {
        assert!(made.body.iter().filter(|b| **b == body).count() >= 50, "body {body}");
    }
    // The large square is as large as it was, but for a cell at the rim.
    let of_large = made.triangles.iter().zip(&made.body).filter(|(_, body)| **body == 0);
    let covered: f64 = of_large.map(|(t, _)| area(t.map(|v| made.vertices[v as usize]))).sum();
    assert!((0.85..=1.0 + 1e-12).contains(&covered), "{covered}");
}
