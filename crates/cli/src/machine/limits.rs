//! Limits of memory: of the control groups that the process is in, and of the process itself.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that may still be allocated under the limits of all control groups, of version 1 or 2,
/// that hold this process. `root` is where the system's folders begin: `/`, or a test's.
pub fn of_groups(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        // cgroups(7): number of the hierarchy, its controllers, path of the group.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let version = match controllers {
            "" => 2,
            _ if controllers.split(',').any(|name| name == "memory") => 1,
            _ => continue,
        };
        for (base, folder) in folders(&mounts, version, group) {
            let (base, folder) = (join(root, &base), join(root, &folder));
            // A group's limit holds for the groups in it.
            for folder in folder.ancestors().take_while(|folder| folder.starts_with(&base)) {
                least = least.into_iter().chain(left_in(folder, version)).min();
            }
        }
    }
    least
}

fn join(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// For each mount of the hierarchy, where it is mounted and the folder of the group in it.
fn folders(mounts: &str, version: u32, group: &str) -> Vec<(PathBuf, PathBuf)> {
    let of_mount = |line: &str| -> Option<(PathBuf, PathBuf)> {
        // proc(5): ... root mount-point options - type source options
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        let ours = match version {
            2 => kind == "cgroup2",
            _ => kind == "cgroup" && options.split(',').any(|option| option == "memory"),
        };
        let mut before = before.split(' ').skip(3);
        let (root, place) = (before.next()?, PathBuf::from(before.next()?));
        // Seen from a container, the group may lie above what is mounted.
        let inside = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
        let folder = place.join(inside);
        ours.then_some((place, folder))
    };
    mounts.lines().filter_map(of_mount).collect()
}

/// Bytes left in one group, counting what can be reclaimed from its file cache.
fn left_in(folder: &Path, version: u32) -> Option<u64> {
    let (limit, used, cache) = match version {
        2 => ("memory.max", "memory.current", "inactive_file "),
        _ => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
    };
    let number = |name| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number(limit)?;
    let used = number(used).unwrap_or(0);
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse().ok());
    Some(limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
}

/// Bytes that this process may still allocate under its own limits (`ulimit -v`, `ulimit -d`).
pub(crate) fn of_process() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    of_texts(&limits, &status)
}

/// The same from what the system's files on limits and on what is used say.
pub fn of_texts(limits: &str, status: &str) -> Option<u64> {
    let left = |name: &str, used: &str| -> Option<u64> {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        let used = status.lines().find_map(|line| line.strip_prefix(used))?;
        let used: u64 = used.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(limit.saturating_sub(used * 1024))
    };
    let all = [left("Max address space", "VmSize:"), left("Max data size", "VmData:")];
    all.into_iter().flatten().min()
}
