// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Addresses to listen on, in Go's notation.
//!
//! The notation is that of controller-runtime's flags, so that manifests can be kept. Nothing
//! is resolved before [`BindAddress::listen`].

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::str::FromStr;

/// The address that a server listens on, or that the server is turned off. It is written as in the flags
/// of controller-runtime.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BindAddress {
    /// `0` or the empty string: the server is turned off.
    Off,
    /// `:8081`: every interface, over IPv6, and over IPv4 where the system maps it as Linux does.
    Everywhere(u16),
    /// `127.0.0.1:8081`, `[::1]:8081` or `localhost:8081`.
    Host(String),
}

impl BindAddress {
    /// Opens the listening socket; `None` when the server is turned off.
    ///
    /// # Errors
    ///
    /// The error of the operating system, usually that the port is in use or not permitted.
    pub fn listen(&self) -> io::Result<Option<TcpListener>> {
        match self {
            Self::Off => Ok(None),
            Self::Everywhere(port) => TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port))
                .or_else(|error| match error.kind() {
                    io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
                    // A kernel may have no IPv6 at all.
                    _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)),
                })
                .map(Some),
            Self::Host(address) => TcpListener::bind(address.as_str()).map(Some),
        }
    }
}

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if matches!(text, "" | "0") {
            return Ok(Self::Off);
        }
        let (host, port) = text
            .rsplit_once(':')
            .ok_or("expected `host:port`, `:port`, or `0` to turn the server off")?;
        let port = port
            .parse()
            .map_err(|_| format!("`{port}` is not a port number"))?;
        if host.is_empty() {
            return Ok(Self::Everywhere(port));
        }
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err(format!(
                "write the IPv6 address in brackets: `[{host}]:{port}`"
            ));
        }
        Ok(Self::Host(text.to_owned()))
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::Everywhere(port) => write!(f, ":{port}"),
            Self::Host(address) => f.write_str(address),
        }
    }
}

#[cfg(test)]
mod tests;
