//! GDSII files for tests.

/// A library whose database unit is a nanometre.
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn new() -> Self {
        let mut file = Self(Vec::new());
        file.record(0x00, 2, &600i16.to_be_bytes());
        file.record(0x01, 2, &[0; 24]);
        file.record(0x02, 6, b"test");
        file.record(0x03, 5, &[Self::real(1e-3), Self::real(1e-9)].concat());
        file
    }

    pub fn record(&mut self, is: u8, kind: u8, data: &[u8]) {
        let pad = data.len() % 2;
        let length = (4 + data.len() + pad) as u16;
        self.0.extend(length.to_be_bytes());
        self.0.extend([is, kind]);
        self.0.extend(data);
        self.0.extend(vec![0; pad]);
    }

    pub fn real(value: f64) -> [u8; 8] {
        let (mut size, mut exponent) = (value.abs(), 64);
        while size >= 1.0 {
            (size, exponent) = (size / 16.0, exponent + 1);
        }
        while size > 0.0 && size < 1.0 / 16.0 {
            (size, exponent) = (size * 16.0, exponent - 1);
        }
        let sign = if value < 0.0 { 1 << 63 } else { 0 };
        let exponent = if value == 0.0 { 0 } else { exponent << 56 };
        (sign | exponent | (size * 2f64.powi(56)) as u64).to_be_bytes()
    }

    fn short(&mut self, is: u8, value: i16) {
        self.record(is, 2, &value.to_be_bytes());
    }

    fn long(&mut self, is: u8, value: i32) {
        self.record(is, 3, &value.to_be_bytes());
    }

    fn points(&mut self, points: &[[i32; 2]]) {
        let bytes: Vec<u8> = points.iter().flatten().flat_map(|x| x.to_be_bytes()).collect();
        self.record(0x10, 3, &bytes);
    }

    pub fn begin(&mut self, name: &str) {
        self.record(0x05, 2, &[0; 24]);
        self.record(0x06, 6, name.as_bytes());
    }

    pub fn end(&mut self) {
        self.record(0x07, 0, &[]);
    }

    pub fn polygon(&mut self, (layer, datatype): (i16, i16), points: &[[i32; 2]]) {
        self.record(0x08, 0, &[]);
        self.short(0x0D, layer);
        self.short(0x0E, datatype);
        self.points(&[points, &points[..1]].concat());
        self.record(0x11, 0, &[]);
    }

    pub fn path(
        &mut self,
        (layer, datatype): (i16, i16),
        kind: i16,
        width: i32,
        points: &[[i32; 2]],
        extensions: Option<[i32; 2]>,
    ) {
        self.record(0x09, 0, &[]);
        self.short(0x0D, layer);
        self.short(0x0E, datatype);
        self.short(0x21, kind);
        self.long(0x0F, width);
        if let Some([first, last]) = extensions {
            self.long(0x30, first);
            self.long(0x31, last);
        }
        self.points(points);
        self.record(0x11, 0, &[]);
    }

    pub fn text(&mut self, (layer, texttype): (i16, i16), text: &str, at: [i32; 2]) {
        self.record(0x0C, 0, &[]);
        self.short(0x0D, layer);
        self.short(0x16, texttype);
        self.points(&[at]);
        self.record(0x19, 6, text.as_bytes());
        self.record(0x11, 0, &[]);
    }

    /// With whether it is mirrored, its magnification and its angle.
    pub fn sref(&mut self, cell: &str, at: [i32; 2], how: Option<(bool, f64, f64)>) {
        self.record(0x0A, 0, &[]);
        self.record(0x12, 6, cell.as_bytes());
        if let Some((is_mirrored, magnification, angle)) = how {
            self.record(0x1A, 1, &if is_mirrored { [0x80, 0] } else { [0, 0] });
            self.record(0x1B, 5, &Self::real(magnification));
            self.record(0x1C, 5, &Self::real(angle));
        }
        self.points(&[at]);
        self.record(0x11, 0, &[]);
    }

    pub fn aref(&mut self, cell: &str, [columns, rows]: [i16; 2], points: [[i32; 2]; 3]) {
        self.record(0x0B, 0, &[]);
        self.record(0x12, 6, cell.as_bytes());
        self.record(0x13, 2, &[columns.to_be_bytes(), rows.to_be_bytes()].concat());
        self.points(&points);
        self.record(0x11, 0, &[]);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.record(0x04, 0, &[]);
        self.0
    }
}

/// A file of one cell, called "top".
pub fn cell_of(add: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut file = Writer::new();
    file.begin("top");
    add(&mut file);
    file.end();
    file.finish()
}
