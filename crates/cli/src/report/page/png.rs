//! Pictures as PNG (ISO/IEC 15948): eight bits a channel, red, green, blue and opacity.

use std::io::{self, Write as _};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// The bytes of a file that shows `pixels`, four bytes each, row by row from the top.
pub(super) fn encode(width: usize, height: usize, pixels: &[u8]) -> io::Result<Vec<u8>> {
    let mut rows = Vec::with_capacity(pixels.len() + height);
    let mut above = vec![0; 4 * width];
    for row in pixels.chunks_exact(4 * width) {
        // What is alike above compresses better as a difference: filter 2, "up".
        rows.push(2);
        rows.extend(row.iter().zip(&above).map(|(value, above)| value.wrapping_sub(*above)));
        above.copy_from_slice(row);
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&rows)?;
    let packed = packed.finish()?;

    let size = |n: usize| u32::try_from(n).map_err(io::Error::other).map(u32::to_be_bytes);
    // 8 bits, kind 6: true colour with opacity; the only compression, filters and order there are.
    let header = [&size(width)?[..], &size(height)?[..], &[8, 6, 0, 0, 0]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [(b"IHDR", &header[..]), (b"IDAT", &packed), (b"IEND", &[])] {
        file.extend(size(content.len())?);
        file.extend(kind);
        file.extend(content);
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(content);
        file.extend(sum.sum().to_be_bytes());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;

    use super::*;

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
}
