//! Large blocks of memory in huge pages.
//!
//! The system makes a page when it is first touched, and threads of a process wait for each other
//! there. Pages of 4 KiB make a solve of ten million triangles on a GPU take an eighth more time
//! (docs/performance.md, "Solves by several processes").

/// Size of a huge page.
const HUGE: usize = 2 << 20;

/// Blocks of this many bytes and more are worth a call of the system.
const LARGE: usize = 2 * HUGE;

/// Asks for huge pages where whole ones fit into a large block that the allocator has granted.
#[cfg(target_os = "linux")]
pub(super) fn advise(block: *mut u8, size: usize) {
    if size < LARGE {
        return;
    }
    let offset = block.align_offset(HUGE);
    let length = size.saturating_sub(offset) / HUGE * HUGE;
    if length > 0 {
        // SAFETY: the range is within the block. The advice changes nothing of what is there, and a
        // system that does not take it says so in vain.
        unsafe { libc::madvise(block.wrapping_add(offset).cast(), length, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn advise(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    /// Flags of the mapping that an address is in (proc(5), `VmFlags`).
    fn flags(address: usize) -> String {
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_here = false;
        for line in text.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            if let Some((Some(low), Some(high))) = range.map(|(a, b)| (number(a), number(b))) {
                is_here = (low..high).contains(&address);
            } else if is_here && let Some(flags) = line.strip_prefix("VmFlags:") {
                return flags.to_owned();
            }
        }
        panic!("no mapping of {address:x}");
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "reads /proc")]
    fn large_blocks_ask_for_huge_pages_and_keep_what_is_in_them() {
        let is_there = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        let mut values: Vec<u64> = (0..5 << 20).collect();
        for _ in 0..2 {
            let middle = &raw const values[values.len() / 2] as usize;
            let asked = flags(middle).split(' ').any(|flag| flag == "hg");
            assert_eq!(asked, is_there);
            // Moved, and longer.
            values.reserve_exact(20 << 20);
            assert!(values.iter().zip(0..).all(|(value, index)| *value == index));
            values.extend(values.len() as u64..20 << 20);
        }
        assert!(vec![0u64; 5 << 20].iter().all(|value| *value == 0));
    }
}
