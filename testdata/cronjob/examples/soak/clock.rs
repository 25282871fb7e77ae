// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The clock of the operator's process: a library that is loaded before libc adds the number in a
//! file to the time. Linux has no separate wall clock for a single process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// Adds the number in the file `SOAK_CLOCK` to the seconds of the wall clock.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    const char *path = getenv("SOAK_CLOCK");
    FILE *file = clock == CLOCK_REALTIME && path ? fopen(path, "r") : NULL;
    long seconds = 0;
    if (file && fscanf(file, "%ld", &seconds) == 1) time->tv_sec += seconds;
    if (file) fclose(file);
    return result;
}
"#;

pub struct Shift {
    library: PathBuf,
    seconds: PathBuf,
}

impl Shift {
    /// Compiles the library into `folder`; fails without a C compiler.
    pub fn prepare(folder: &Path) -> Result<Self> {
        let shift = Self {
            library: folder.join("clock.so"),
            seconds: folder.join("clock"),
        };
        let source = folder.join("clock.c");
        fs::write(&source, LIBRARY)?;
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&shift.library)
            .arg(source);
        if !compiler.arg("-ldl").status()?.success() {
            return Err("cc failed".into());
        }
        shift.set(0)?;
        Ok(shift)
    }

    /// The environment variables that a process needs.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("LD_PRELOAD", self.library.clone()),
            ("SOAK_CLOCK", self.seconds.clone()),
        ]
    }

    /// Sets the clock ahead by `seconds`.
    pub fn set(&self, seconds: i64) -> Result<()> {
        // A reader must never see a partial number.
        let new = self.seconds.with_extension("new");
        fs::write(&new, seconds.to_string())?;
        Ok(fs::rename(new, &self.seconds)?)
    }
}
