//! A recorded sequence of launches that is replayed as one.

use std::sync::Arc;

use cudarc::driver::{result, sys};

use crate::device::Context;
use crate::{Error, Stream, check, failure};

/// A recorded graph. The buffers that its kernels use must outlive it, which is the recorder's
/// duty.
#[derive(Debug)]
pub struct Graph {
    graph: sys::CUgraph,
    instance: sys::CUgraphExec,
    context: Arc<Context>,
}

// SAFETY: a graph may move between threads; `&mut self` keeps its use exclusive.
unsafe impl Send for Graph {}
// SAFETY: nothing is done through a shared reference.
unsafe impl Sync for Graph {}

/// A stream that records instead of running; it runs again at the end of the scope, even if that
/// comes by a panic.
struct Capture<'a> {
    stream: &'a Stream,
    open: bool,
}

impl<'a> Capture<'a> {
    fn begin(stream: &'a Stream) -> Result<Self, Error> {
        stream.context.bind()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is valid; the driver refuses if it is being captured already.
        check("recording a graph", unsafe { result::stream::begin_capture(stream.raw, mode) })?;
        Ok(Self { stream, open: true })
    }

    /// What was recorded.
    fn end(&mut self) -> Result<sys::CUgraph, Error> {
        self.open = false;
        self.stream.context.bind()?;
        // SAFETY: the capture was begun in `begin` and is ended once.
        unsafe { result::stream::end_capture(self.stream.raw) }
            .map_err(|error| failure("recording a graph", error))
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if self.open
            && let Ok(graph) = self.end()
            && !graph.is_null()
        {
            // SAFETY: returned by the driver and owned here.
            let _ = unsafe { result::graph::destroy(graph) };
        }
    }
}

impl Graph {
    /// Records what `work` puts on `stream`, and on streams that it makes wait for events of
    /// `stream`, without running it.
    ///
    /// # Errors
    /// What `work` returns; [`Error::Driver`].
    pub fn record<E: From<Error>>(
        stream: &Stream,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut capture = Capture::begin(stream)?;
        work()?;
        let graph = capture.end()?;
        // Kernels keep the priorities of the streams that they were recorded on.
        let flags =
            sys::CUgraphInstantiate_flags_enum::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
        // SAFETY: the graph is valid.
        let instance = unsafe { result::graph::instantiate(graph, flags) }.map_err(|error| {
            // SAFETY: owned here.
            let _ = unsafe { result::graph::destroy(graph) };
            failure("preparing a graph", error)
        })?;
        Ok(Self { graph, instance, context: stream.context.clone() })
    }

    /// Puts the whole graph on `stream`.
    ///
    /// # Safety
    /// Every buffer that was used while recording is still there.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: both are valid; the buffers are by the caller's promise.
        check("starting a graph", unsafe { result::graph::launch(self.instance, stream.raw) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: nobody else has this graph.
            unsafe {
                let _ = result::graph::exec_destroy(self.instance);
                let _ = result::graph::destroy(self.graph);
            }
        }
    }
}
