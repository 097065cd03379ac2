import Glibc
import Synchronization

/// Below which pages of a file its records were seen last. They may be below others since.
final class InteriorPages: Sendable {
    /// Records that share a place. Some thousand with numbers that follow one another are below one page.
    private static let recordsPerPlace: Int64 = 128
    /// Where there are more, some share a place that do not follow one another. Memory that nobody wrote to is not the
    /// process's yet.
    private static let count = 1 << 16
    // Every word is atomic, and they are freed with the last reference.
    nonisolated(unsafe) private let words: UnsafeMutablePointer<Atomic<UInt32>>?

    init() {
        let memory = calloc(Self.count, MemoryLayout<Atomic<UInt32>>.stride)
        words = memory?.bindMemory(to: Atomic<UInt32>.self, capacity: Self.count)
    }

    deinit { free(words) }

    /// The number of the page; 0 where none is known.
    subscript(record: Int64) -> Int {
        get { word(of: record).map { Int($0.pointee.load(ordering: .relaxed)) } ?? 0 }
        set {
            let page = UInt32(truncatingIfNeeded: newValue)
            // What is as it was is not taken from the other processors' caches.
            guard let word = word(of: record), word.pointee.load(ordering: .relaxed) != page else { return }
            word.pointee.store(page, ordering: .relaxed)
        }
    }

    private func word(of record: Int64) -> UnsafeMutablePointer<Atomic<UInt32>>? {
        words.map { $0 + (Int(truncatingIfNeeded: record / Self.recordsPerPlace) & (Self.count - 1)) }
    }
}
