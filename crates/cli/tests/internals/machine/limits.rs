use std::fs;
use std::path::PathBuf;

use farad_cli::internals::machine::{of_groups, of_texts};

/// A folder that looks like a system with these files.
fn system(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = std::env::temp_dir().join(format!("farad-limits-{name}-{}", std::process::id()));
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn the_tightest_group_of_version_2_counts_with_its_cache() {
    let root = system(
        "v2",
        &[
            ("proc/self/cgroup", "0::/slice/job\n"),
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/slice/memory.max", "1000000\n"),
            ("sys/fs/cgroup/slice/memory.current", "500000\n"),
            ("sys/fs/cgroup/slice/memory.stat", "anon 1\ninactive_file 200000\nactive_file 7\n"),
            ("sys/fs/cgroup/slice/job/memory.max", "max\n"),
            ("sys/fs/cgroup/slice/job/memory.current", "400000\n"),
        ],
    );
    assert_eq!(of_groups(&root), Some(700_000));
    fs::write(root.join("sys/fs/cgroup/slice/job/memory.max"), "450000\n").unwrap();
    assert_eq!(of_groups(&root), Some(50_000));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn groups_of_version_1_are_found_in_containers() {
    let root = system(
        "v1",
        &[
            ("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n"),
            (
                "proc/self/mountinfo",
                "35 30 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
             36 30 0:31 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "9715200\n"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 0\n"),
        ],
    );
    assert_eq!(of_groups(&root), Some(200_000_000));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn limits_of_the_process_count_what_it_has() {
    let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                  Max data size             unlimited            unlimited            bytes     \n\
                  Max address space         6144000              unlimited            bytes     \n";
    let status = "VmSize:\t    2000 kB\nVmData:\t 10 kB\n";
    assert_eq!(of_texts(limits, status), Some(6_144_000 - 2000 * 1024));
    assert_eq!(of_texts("", status), None);
}
