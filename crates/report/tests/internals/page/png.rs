use std::io::Read as _;

use flate2::read::ZlibDecoder;
use report::internals::png::encode;

#[test]
fn pixels_come_back() {
    let (width, height) = (5, 3);
    let pixels: Vec<u8> = (0..4 * width * height).map(|i| (i * 37 % 251) as u8).collect();
    let file = encode(width, height, &pixels).unwrap();
    assert_eq!(file[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!(file[16..24], [0, 0, 0, 5, 0, 0, 0, 3]);
    // After the signature and IHDR (25 bytes) comes IDAT.
    let length = u32::from_be_bytes(file[33..37].try_into().unwrap()) as usize;
    let mut rows = Vec::new();
    ZlibDecoder::new(&file[41..41 + length]).read_to_end(&mut rows).unwrap();
    for y in 0..height {
        let row = &mut rows[y * (4 * width + 1)..][..4 * width + 1];
        assert_eq!(row[0], 2);
    }
    let plain = |x: usize, y: usize| -> u8 {
        (0..=y).fold(0, |sum: u8, y| sum.wrapping_add(rows[y * (4 * width + 1) + 1 + x]))
    };
    for y in 0..height {
        for x in 0..4 * width {
            assert_eq!(plain(x, y), pixels[y * 4 * width + x]);
        }
    }
}
