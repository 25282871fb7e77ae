// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A free port of loopback, for a server that will listen there much later.

use std::iter;
use std::net::{TcpListener, UdpSocket};

use super::TestEnvError;
use super::control_plane::{LOOPBACK, random};

/// How many ports are tried; most ports are free.
const ATTEMPTS: usize = 100;

/// A TCP port that no other environment chooses, in whichever process it runs, until this is dropped.
pub(super) struct ReservedPort {
    pub(super) number: u16,
    /// Nothing is sent there: the operating system gives a UDP port to one socket only, and takes it
    /// back when the process ends.
    _reservation: UdpSocket,
}

impl ReservedPort {
    /// Chooses a port between 16384 and 32767, so that it is none of those that operating systems
    /// assign to outgoing connections, or to listeners on any port.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::NoPort`].
    pub(super) fn choose() -> Result<Self, TestEnvError> {
        let candidates = iter::repeat_with(|| {
            let [low, high, ..] = random().to_ne_bytes();
            0x4000 | (u16::from_ne_bytes([low, high]) & 0x3fff)
        });
        Self::first_free(candidates.take(ATTEMPTS))
    }

    fn first_free(candidates: impl IntoIterator<Item = u16>) -> Result<Self, TestEnvError> {
        let mut outcome = Err(std::io::ErrorKind::AddrInUse.into());
        for number in candidates {
            let reservation = UdpSocket::bind((LOOPBACK, number));
            // Any other process may listen there.
            let reservation =
                reservation.and_then(|held| TcpListener::bind((LOOPBACK, number)).map(|_| held));
            outcome = reservation.map(|held| Self {
                number,
                _reservation: held,
            });
            if outcome.is_ok() {
                break;
            }
        }
        outcome.map_err(TestEnvError::NoPort)
    }
}

#[cfg(test)]
mod tests;
