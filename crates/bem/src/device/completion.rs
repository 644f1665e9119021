//! Completes rows on the device: the twin of `solve::completion`.

use cuda::{Buffer, Device};

use super::kernels::vectors::{self, THREADS};
use super::kernels::{Kernel, count};
use crate::Error;
use crate::solve::completion::{Completion, Entries, Laws};

/// Completes rows on the device.
#[derive(Debug)]
pub struct DeviceCompletion {
    device: Device,
    first: DeviceLaws,
    /// a_i and b_i of each row.
    rows: Buffer<[f64; 2]>,
    second: DeviceLaws,
    add: Kernel<vectors::AddLaws>,
    complete: Kernel<vectors::Complete>,
}

#[derive(Debug)]
struct DeviceLaws {
    count: usize,
    expected: DeviceEntries,
    found: DeviceEntries,
    inverse: DeviceEntries,
    shifts: DeviceEntries,
}

#[derive(Debug)]
struct DeviceEntries {
    shape: [usize; 2],
    rows: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<f64>,
}

impl DeviceCompletion {
    /// Brings a completion of `n` rows to the device.
    pub fn new(device: &Device, of: &dyn Completion, n: usize) -> Result<Self, cuda::Error> {
        let rows: Vec<[f64; 2]> = (0..n).map(|i| of.row(i)).collect();
        Ok(Self {
            first: DeviceLaws::new(device, of.first())?,
            rows: device.upload(&rows)?,
            second: DeviceLaws::new(device, of.second())?,
            add: Kernel::new(device, &[], THREADS)?,
            complete: Kernel::new(device, &[], THREADS)?,
            device: device.clone(),
        })
    }

    /// Completes the rows of `columns` columns. Returns the largest defect of a first law.
    pub fn apply(
        &self,
        of: &dyn Completion,
        x: &Buffer<f64>,
        y: &Buffer<f64>,
        columns: usize,
    ) -> Result<f64, Error> {
        let mut defect = 0.0f64;
        if self.first.count > 0 {
            let missing = self.missing(&self.first, x, y, columns)?;
            let sizes = self.zeros(columns * self.first.count)?;
            self.add(&self.first.expected, true, x, &sizes, columns)?;
            let laws = self.first.count;
            let (found, sizes) = (missing.to_vec()?, sizes.to_vec()?);
            let of_columns = found.chunks_exact(laws).zip(sizes.chunks_exact(laws));
            for (column, (missing, sizes)) in of_columns.enumerate() {
                let mut vectors = || {
                    let (mut own, n) =
                        ([(); 2].map(|()| vec![0.0; self.rows.len()]), self.rows.len());
                    for (own, all) in own.iter_mut().zip([x, y]) {
                        all.read(column * n, own)?;
                    }
                    Ok(own)
                };
                defect = defect.max(of.defect(missing, sizes, &mut vectors)?);
            }
            self.shift(&self.first, &missing, y, columns)?;
        }
        let n = self.rows.len();
        let complete = vectors::Complete {
            n: count(n),
            own_and_factor: self.rows.pointer(),
            x: x.pointer(),
            y: y.pointer(),
        };
        self.complete.over(n, columns, complete)?;
        if self.second.count > 0 {
            let missing = self.missing(&self.second, x, y, columns)?;
            self.shift(&self.second, &missing, y, columns)?;
        }
        Ok(defect)
    }

    /// Defect of each law, shape (columns, laws).
    fn missing(
        &self,
        laws: &DeviceLaws,
        x: &Buffer<f64>,
        y: &Buffer<f64>,
        columns: usize,
    ) -> Result<Buffer<f64>, cuda::Error> {
        let missing = self.zeros(columns * laws.count)?;
        self.add(&laws.expected, false, x, &missing, columns)?;
        self.add(&laws.found, false, y, &missing, columns)?;
        Ok(missing)
    }

    fn shift(
        &self,
        laws: &DeviceLaws,
        missing: &Buffer<f64>,
        y: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), cuda::Error> {
        let shifts = self.zeros(columns * laws.count)?;
        self.add(&laws.inverse, false, missing, &shifts, columns)?;
        self.add(&laws.shifts, false, &shifts, y, columns)
    }

    /// to += A from for each column, or with `absolute` the sums of |from_j| over the entries of
    /// each row.
    fn add(
        &self,
        a: &DeviceEntries,
        absolute: bool,
        from: &Buffer<f64>,
        to: &Buffer<f64>,
        columns: usize,
    ) -> Result<(), cuda::Error> {
        let [outputs, inputs] = a.shape.map(|len| len as u64);
        let entries = vectors::AddLaws {
            count: count(a.rows.len()),
            rows: a.rows.pointer(),
            places: a.columns.pointer(),
            values: a.values.pointer(),
            absolute,
            inputs,
            from: from.pointer(),
            outputs,
            to: to.pointer(),
        };
        self.add.over(a.rows.len(), columns, entries)
    }

    fn zeros(&self, len: usize) -> Result<Buffer<f64>, cuda::Error> {
        let zeros = self.device.buffer(len)?;
        zeros.zero()?;
        Ok(zeros)
    }
}

impl DeviceLaws {
    fn new(device: &Device, laws: &Laws) -> Result<Self, cuda::Error> {
        let entries = |of: &Entries| DeviceEntries::new(device, of);
        Ok(Self {
            count: laws.len(),
            expected: entries(&laws.expected)?,
            found: entries(&laws.found)?,
            inverse: entries(&laws.inverse)?,
            shifts: entries(&laws.shifts)?,
        })
    }
}

impl DeviceEntries {
    fn new(device: &Device, of: &Entries) -> Result<Self, cuda::Error> {
        Ok(Self {
            shape: of.shape,
            rows: device.upload(&of.rows)?,
            columns: device.upload(&of.columns)?,
            values: device.upload(&of.values)?,
        })
    }
}
