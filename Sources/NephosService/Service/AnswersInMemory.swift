import NephosWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Bounds the bytes of the answers that were written and are not sent yet, of all callers together: as many may be on their
/// way to their connections as those may hold.
enum AnswersInMemory {
    /// - Parameter size: bytes of another answer.
    /// - Throws: `tryAgainLater` where there is no room for it; a small answer has some.
    static func check(_ size: Int) throws(ServiceError) {
        guard size >= JSONBytes.largeLimit else { return }
        if JSONBytes.largeBytes + size > 2 * Limits.heldBytes { throw .noRoom }
    }
}

extension Limits {
    /// Bytes of bodies that arrive and of answers that are read, of all clients of a server together: an eighth of the
    /// machine's memory, within bounds.
    package static let heldBytes: Int = {
        let memory = Int(sysconf(Int32(_SC_PHYS_PAGES))) * Int(sysconf(Int32(_SC_PAGESIZE)))
        return min(max(memory / 8, 128 << 20), 512 << 20)
    }()
}
