// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! SIGTERM and SIGINT: the first signal requests a graceful shutdown, the second an immediate exit.
//!
//! No other signal is handled, and the default handlers are never restored.

use std::convert::Infallible;
use std::io;

use tokio_util::sync::CancellationToken;

use crate::ManagerError;
use crate::chain::chain;
use crate::thread::Thread;

/// Cancels `stop` at the first signal and calls `end` at every further one.
///
/// The thread ends only if signals cannot be handled.
///
/// # Errors
///
/// [`ManagerError::Thread`].
pub(crate) fn listen<F>(stop: CancellationToken, end: F) -> Result<Thread, ManagerError>
where
    F: FnMut() + Send + 'static,
{
    Thread::spawn("signals", async {
        let Err(error) = handle(stop, end).await;
        chain(&error)
    })
}

async fn handle(stop: CancellationToken, mut end: impl FnMut()) -> io::Result<Infallible> {
    let mut signals = Signals::install()?;
    let signal = signals.next().await?;
    tracing::info!(signal, "stopping; a second signal ends the process at once");
    stop.cancel();
    loop {
        let signal = signals.next().await?;
        tracing::warn!(signal, "ending at once");
        end();
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn install() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> io::Result<&'static str> {
        tokio::select! {
            _ = self.interrupt.recv() => Ok("SIGINT"),
            _ = self.terminate.recv() => Ok("SIGTERM"),
        }
    }
}

/// Other systems have Ctrl-C only.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn install() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> io::Result<&'static str> {
        tokio::signal::ctrl_c().await.map(|()| "Ctrl-C")
    }
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests;
