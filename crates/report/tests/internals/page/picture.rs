use report::internals::picture::{axes, draw};

/// The pixels of a file of this program's own.
fn pixels(file: &[u8], width: usize) -> Vec<[u8; 4]> {
    use std::io::Read as _;
    let length = u32::from_be_bytes(file[33..37].try_into().unwrap()) as usize;
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&file[41..41 + length]).read_to_end(&mut rows).unwrap();
    let mut above = vec![0u8; 4 * width];
    let mut all = Vec::new();
    for row in rows.chunks_exact(4 * width + 1) {
        above.iter_mut().zip(&row[1..]).for_each(|(a, r)| *a = a.wrapping_add(*r));
        all.extend(above.chunks_exact(4).map(|p| <[u8; 4]>::try_from(p).unwrap()));
    }
    all
}

#[test]
fn what_is_in_front_hides_what_is_behind() {
    // Two triangles across the line of sight, the first nearer to the eye and as large.
    let [right, up, toward] = axes();
    let at = |x: f64, y: f64, z: f64| -> [f64; 3] {
        std::array::from_fn(|k| x * right[k] + y * up[k] + z * toward[k])
    };
    let corners = |z| [at(-1.0, -1.0, z), at(1.0, -1.0, z), at(0.0, 1.0, z)];
    let vertices: Vec<_> = [corners(1.0), corners(0.0)].concat();
    let colours = [[200, 0, 0], [0, 0, 200]];
    for order in [[0, 1], [1, 0]] {
        let triangles = order.map(|k: u32| [3 * k, 3 * k + 1, 3 * k + 2]);
        let file = draw([40, 40], &vertices, &triangles, |t| colours[order[t] as usize]);
        let pixels = pixels(&file.unwrap(), 40);
        assert_eq!(pixels[25 * 40 + 20], [200, 0, 0, 255]);
        assert_eq!(pixels[0], [0, 0, 0, 0]);
        assert!(pixels.iter().all(|p| p[2] == 0));
        // Half of the box that it fills, which has a margin.
        let covered = pixels.iter().filter(|p| p[3] == 255).count();
        assert!((550..720).contains(&covered), "{covered}");
    }
}

#[test]
fn points_and_nothing_are_pictures_too() {
    assert!(draw([8, 8], &[], &[], |_| [0; 3]).is_ok());
    assert!(draw([8, 8], &[[1.0; 3]; 3], &[[0, 1, 2]], |_| [0; 3]).is_ok());
}
