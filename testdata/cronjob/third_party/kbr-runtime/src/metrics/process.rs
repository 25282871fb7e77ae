// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What the kernel reports about this process, on Linux.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Asks the kernel when metrics are read. Values that the kernel does not report are left out.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let usage = Usage::now();
        if let Some(usage) = &usage {
            let name = "process_cpu_seconds";
            let help = "CPU time of this process, for itself and in the kernel";
            let counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(usage.cpu).encode(counter)?;
        }
        let usage = usage.as_ref();
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Memory that this process takes",
                usage.map(|usage| usage.resident),
            ),
            (
                "process_virtual_memory_bytes",
                "Addresses that this process has taken",
                usage.map(|usage| usage.addresses),
            ),
            (
                "process_start_time_seconds",
                "When this process started, in seconds since 1970",
                usage.map(|usage| usage.started),
            ),
            (
                "process_open_fds",
                "Files and connections that this process has open",
                open_files(),
            ),
            (
                "process_max_fds",
                "How many files and connections this process may have open",
                most_files(),
            ),
        ] {
            if let Some(value) = value {
                let gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
                ConstGauge::new(value).encode(gauge)?;
            }
        }
        Ok(())
    }
}

/// Values from `/proc/self/stat`, see proc_pid_stat(5).
#[derive(Debug, PartialEq)]
struct Usage {
    /// Seconds.
    cpu: f64,
    /// Bytes.
    resident: f64,
    /// Bytes.
    addresses: f64,
    /// Seconds since 1970.
    started: f64,
}

impl Usage {
    #[cfg(target_os = "linux")]
    fn now() -> Option<Self> {
        use rustix::param::{clock_ticks_per_second, page_size};
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let system = std::fs::read_to_string("/proc/stat").ok()?;
        Self::of(
            &stat,
            &system,
            clock_ticks_per_second() as f64,
            page_size() as f64,
        )
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<Self> {
        None
    }

    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "there is nothing to read")
    )]
    fn of(stat: &str, system: &str, ticks: f64, page: f64) -> Option<Self> {
        // The second field is the name of the program, which may contain any characters.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // The manual counts fields from 1.
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        let mut lines = system.lines();
        let booted = lines.find_map(|line| line.strip_prefix("btime "))?;
        let booted: f64 = booted.trim().parse().ok()?;
        Some(Self {
            cpu: (field(14)? + field(15)?) / ticks,
            started: booted + field(22)? / ticks,
            addresses: field(23)?,
            resident: field(24)? * page,
        })
    }
}

fn open_files() -> Option<f64> {
    let files = std::fs::read_dir("/proc/self/fd").ok()?;
    // One of them is the folder itself.
    Some(files.count().saturating_sub(1) as f64)
}

fn most_files() -> Option<f64> {
    most_files_of(&std::fs::read_to_string("/proc/self/limits").ok()?)
}

fn most_files_of(limits: &str) -> Option<f64> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(f64::INFINITY),
        soft => soft.parse().ok(),
    }
}
