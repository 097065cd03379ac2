import NephosStorage
import NephosWire
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Bounds the bytes of responses, of all callers, that are made and not sent yet. The total may reach twice
/// `Limits.heldBytes`.
enum AnswersInMemory {
    /// - Parameter size: the number of bytes of a further response.
    /// - Throws: `tryAgainLater` if the response does not fit. A small response always fits.
    static func check(_ size: Int) throws(ServiceError) {
        guard size >= JSONBytes.largeLimit else { return }
        if JSONBytes.largeBytes + Room.total + size > 2 * Limits.heldBytes { throw .noRoom }
    }

    /// Reserves bytes for the records of a response that is not encoded yet. The reservation ends when the object is
    /// deinitialised.
    final class Room: Sendable {
        fileprivate static var total: Int { count.load(ordering: .relaxed) }
        private static let count = Atomic(0)
        private let size: Int

        /// - Throws: `tryAgainLater` if the bytes do not fit.
        init(_ size: Int) throws(ServiceError) {
            try AnswersInMemory.check(size)
            self.size = size
            Self.count.add(size, ordering: .relaxed)
        }

        deinit { Self.count.subtract(size, ordering: .relaxed) }
    }

    /// - Returns: the reservation for the records of a response; nil if the records are small.
    static func room(for outcomes: [RecordOutcome]) throws(ServiceError) -> Room? {
        let size = outcomes.reduce(0) { $0 + ($1.row?.fields.count ?? 0) }
        return size < JSONBytes.largeLimit ? nil : try Room(size)
    }
}

extension Limits {
    /// The maximum number of bytes per server of request bodies being received and of responses being read, over all
    /// clients: an eighth of the memory that the process may use, from 128 to 512 MiB.
    package static let heldBytes: Int = {
        let machine = Int(sysconf(Int32(_SC_PHYS_PAGES))) * Int(sysconf(Int32(_SC_PAGESIZE)))
        return min(max(min(machine, groupMemory ?? machine) / 8, 128 << 20), 512 << 20)
    }()

    /// The memory limit, in bytes, of the process's control group, which a container sets; nil without a limit.
    private static var groupMemory: Int? {
        guard let file = fopen("/sys/fs/cgroup/memory.max", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        return Int(String(decoding: line.prefix { $0 > 0x20 }.map(UInt8.init), as: UTF8.self))
    }
}
