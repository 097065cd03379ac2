import CMicroHTTPD

/// The C library's reuse of freed memory. The setting is process-wide.
package enum ProcessMemory {
    /// Keeps freed memory for the next answer instead of returning it to the system, which would hand it back page by
    /// page (page faults): for a page of a feed that costs about as much as reading its records.
    ///
    /// The kept memory is bounded per thread. Answers have at most a few megabytes.
    package static func keepForNextAnswer() {
        nephos_keep_free_memory(4 << 20)
    }
}
