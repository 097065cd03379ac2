import CMicroHTTPD

/// What the C library does with memory that was given back. The whole process shares it.
package enum ProcessMemory {
    /// Keeps it for the next answer instead of returning it to the system, which would hand it back page by page: for a
    /// page of a feed that costs about as much as reading its records does.
    ///
    /// What is kept is bounded, by thread. Answers are not larger than a few megabytes.
    package static func keepForNextAnswer() {
        nephos_keep_free_memory(4 << 20)
    }
}
