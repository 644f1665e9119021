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
