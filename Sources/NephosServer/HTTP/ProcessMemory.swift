import CMicroHTTPD

/// The settings for the C library's reuse of freed memory, which apply to the whole process.
package enum ProcessMemory {
    /// Keeps freed memory for the next answer instead of returning it to the system. The system would hand it back page
    /// by page (page faults), which costs about as much as reading the records of a feed's page.
    ///
    /// The kept memory is bounded per thread. Answers have at most a few megabytes.
    package static func keepForNextAnswer() {
        nephos_keep_free_memory(4 << 20)
    }
}
