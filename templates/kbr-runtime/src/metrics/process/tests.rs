// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

#[test]
fn reads_what_proc_says() {
    // The name of a program may look like the fields after it.
    let stat = "7 (a) S 1 2) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 3 0 200 4096000 25 184";
    let system = "cpu  1 2 3\nbtime 1700000000\nprocesses 1\n";
    let expected = Usage {
        cpu: 2.0,
        resident: 25.0 * 4096.0,
        addresses: 4_096_000.0,
        started: 1_700_000_002.0,
    };
    assert_eq!(Usage::of(stat, system, 100.0, 4096.0), Some(expected));
    assert_eq!(Usage::of("7 (a) S 1", system, 100.0, 4096.0), None);

    let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                  Max open files            1024                 524288               files\n";
    assert_eq!(most_files_of(limits), Some(1024.0));
    let limits = limits.replace("1024", "unlimited");
    assert_eq!(most_files_of(&limits), Some(f64::INFINITY));
}

#[cfg(target_os = "linux")]
#[test]
fn this_process_reports_all_values() {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Process));
    let mut text = String::new();
    text::encode(&mut text, &registry).unwrap();

    let value = |name: &str| -> f64 {
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name));
        let value = values.find_map(|value| value.strip_prefix(' '));
        value
            .unwrap_or_else(|| panic!("{name}: {text}"))
            .parse()
            .unwrap()
    };
    assert!(value("process_cpu_seconds_total") >= 0.0);
    assert!(value("process_open_fds") >= 3.0);
    assert!(value("process_max_fds") >= value("process_open_fds"));
    let resident = value("process_resident_memory_bytes");
    assert!(resident > 1e6 && resident < value("process_virtual_memory_bytes"));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let age = now.unwrap().as_secs_f64() - value("process_start_time_seconds");
    assert!((-10.0..86400.0).contains(&age), "{age}");
}
