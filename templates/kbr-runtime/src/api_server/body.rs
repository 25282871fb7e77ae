// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The body of a response, with a deadline or, for a watch, a record of when it last sent something.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use kube::client::DynBody;
use tokio::time::Instant;
use tower::BoxError;

use super::{ApiServer, Kind, SILENCE, Unanswered};

/// The body of a response. Must be read to its end or dropped.
pub(crate) struct Bounded {
    server: ApiServer,
    /// The generation of the connections that it came from.
    generation: u64,
    inner: Box<DynBody>,
    bound: Bound,
    has_ended: bool,
}

enum Bound {
    Limit(BoxFuture<'static, Unanswered>),
    Watch(u64),
    None,
}

impl Bounded {
    pub(super) fn new(
        server: ApiServer,
        generation: u64,
        kind: Kind,
        sent: Instant,
        inner: Box<DynBody>,
    ) -> Self {
        let bound = match kind {
            Kind::Answer => Bound::Limit(server.clone().limit(sent, server.0.deadline).boxed()),
            Kind::Watch(length) => Bound::Watch(server.open_watch(length)),
            Kind::OtherWatch | Kind::Endless => Bound::None,
        };
        Self {
            server,
            generation,
            inner,
            bound,
            has_ended: false,
        }
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(context) {
            this.has_ended = !matches!(frame, Some(Ok(_)));
            if let (Bound::Watch(watch), false) = (&this.bound, this.has_ended) {
                this.server.seen(*watch);
            }
            return Poll::Ready(frame);
        }
        let Bound::Limit(limit) = &mut this.bound else {
            return Poll::Pending;
        };
        let unanswered = ready!(limit.poll_unpin(context));
        this.server.given_up(this.generation, unanswered);
        let error = io::Error::new(io::ErrorKind::TimedOut, unanswered);
        Poll::Ready(Some(Err(error.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        if let Bound::Watch(watch) = self.bound {
            let silence = self.server.close_watch(watch);
            // The caller dropped it after waiting longer than the server should have taken.
            if !self.has_ended && silence > SILENCE {
                self.server.reconnect(self.generation);
            }
        }
    }
}
