//! Free ports of loopback.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::mem;
use std::net::{TcpListener, UdpSocket};

/// A port for a server that will listen there later. It is none of those that the operating system
/// assigns to outgoing connections, and no other call returns it while this process runs.
pub fn free_port() -> u16 {
    for _ in 0..100 {
        let port = 0x4000 | (RandomState::new().build_hasher().finish() & 0x3fff) as u16;
        // Two processes cannot have the same UDP port, which nobody else uses. It is given back
        // when the process ends.
        let Ok(reservation) = UdpSocket::bind(("127.0.0.1", port)) else {
            continue;
        };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            mem::forget(reservation);
            return port;
        }
    }
    panic!("no free port on loopback")
}
