// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The body of a response, with a deadline or, for a watch, a record of when it last sent something.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Bytes, Frame};
use kube::client::DynBody;
use tower::BoxError;

use super::{Kind, SILENCE, Sent, Unanswered};

/// How many bytes of a body are read before its caller is woken: more than most objects have.
const AHEAD: usize = 64 << 10;

/// The body of a response. Must be read to its end or dropped.
pub(crate) struct Bounded {
    sent: Sent,
    /// What was read and not yet asked for.
    ahead: VecDeque<Result<Frame<Bytes>, BoxError>>,
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
    /// `limit` is that of the whole response, unless it is a stream.
    pub(super) fn new(
        sent: Sent,
        limit: BoxFuture<'static, Unanswered>,
        inner: Box<DynBody>,
    ) -> Self {
        let bound = match sent.kind {
            Kind::Answer => Bound::Limit(limit),
            Kind::Watch(length) => Bound::Watch(sent.server.open_watch(length)),
            Kind::OtherWatch | Kind::Endless => Bound::None,
        };
        Self {
            sent,
            ahead: VecDeque::new(),
            inner,
            bound,
            has_ended: false,
        }
    }

    /// Reads a small body to its end.
    pub(super) async fn read_ahead(&mut self) {
        let mut length = 0;
        while length < AHEAD
            && let Some(frame) = poll_fn(|context| self.poll_inner(context)).await
        {
            let data = frame.as_ref().ok().and_then(Frame::data_ref);
            length += data.map_or(0, Bytes::len);
            self.ahead.push_back(frame);
        }
    }

    fn poll_inner(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let server = &self.sent.server;
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            self.has_ended = !matches!(frame, Some(Ok(_)));
            if let (Bound::Watch(watch), false) = (&self.bound, self.has_ended) {
                server.seen(*watch);
            }
            return Poll::Ready(frame);
        }
        let Bound::Limit(limit) = &mut self.bound else {
            return Poll::Pending;
        };
        let unanswered = ready!(limit.poll_unpin(context));
        self.has_ended = true;
        server.given_up(self.sent.generation, unanswered);
        let error = io::Error::new(io::ErrorKind::TimedOut, unanswered);
        Poll::Ready(Some(Err(error.into())))
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.ahead.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => self.poll_inner(context),
        }
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        if let Bound::Watch(watch) = self.bound {
            let silence = self.sent.server.close_watch(watch);
            // The caller dropped it after waiting longer than the server should have taken.
            if !self.has_ended && silence > SILENCE {
                self.sent.server.reconnect(self.sent.generation);
            }
        }
    }
}
