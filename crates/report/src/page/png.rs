//! Pictures as PNG (ISO/IEC 15948): eight bits a channel, red, green, blue and opacity.

use std::io::{self, Write as _};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// The bytes of a file that shows `pixels`, four bytes each, row by row from the top.
pub fn encode(width: usize, height: usize, pixels: &[u8]) -> io::Result<Vec<u8>> {
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
