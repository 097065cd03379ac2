import NephosStorage
import NephosWire
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Bounds the bytes of the answers that are made and are not sent yet, of all callers together: as many may be on their
/// way to their connections as those may hold.
enum AnswersInMemory {
    /// - Parameter size: bytes of another answer.
    /// - Throws: `tryAgainLater` where there is no room for it; a small answer has some.
    static func check(_ size: Int) throws(ServiceError) {
        guard size >= JSONBytes.largeLimit else { return }
        if JSONBytes.largeBytes + Room.total + size > 2 * Limits.heldBytes { throw .noRoom }
    }

    /// Room for records that an answer is going to be written of, until this goes.
    final class Room: Sendable {
        fileprivate static var total: Int { count.load(ordering: .relaxed) }
        private static let count = Atomic(0)
        private let size: Int

        /// - Throws: `tryAgainLater`.
        init(_ size: Int) throws(ServiceError) {
            try AnswersInMemory.check(size)
            self.size = size
            Self.count.add(size, ordering: .relaxed)
        }

        deinit { Self.count.subtract(size, ordering: .relaxed) }
    }

    /// - Returns: nil where there is little.
    static func room(for outcomes: [RecordOutcome]) throws(ServiceError) -> Room? {
        let size = outcomes.reduce(0) { $0 + ($1.row?.fields.count ?? 0) }
        return size < JSONBytes.largeLimit ? nil : try Room(size)
    }
}

extension Limits {
    /// Bytes of bodies that arrive and of answers that are read, of all clients of a server together: an eighth of the
    /// memory that the process may have, within bounds.
    package static let heldBytes: Int = {
        let machine = Int(sysconf(Int32(_SC_PHYS_PAGES))) * Int(sysconf(Int32(_SC_PAGESIZE)))
        return min(max(min(machine, groupMemory ?? machine) / 8, 128 << 20), 512 << 20)
    }()

    /// What the process's control group may have: a container's limit. Nil where it has none.
    private static var groupMemory: Int? {
        guard let file = fopen("/sys/fs/cgroup/memory.max", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        return Int(String(decoding: line.prefix { $0 > 0x20 }.map(UInt8.init), as: UTF8.self))
    }
}
