import Glibc
import Synchronization

/// A store's file in the memory of the process: its readers look at pages where the system caches them, and copy none.
///
/// SQLite can map a file for each connection. This is one mapping for all of them, which stays when the file grows and
/// whose resident pages are limited: they are the system's, but count as the process's. Pages that are still in the
/// write-ahead log are read as ever.
final class FileMapping: Sendable {
    /// The system makes up to this many bytes resident at once, aligned so, where one page of them is touched.
    private static let window = 1 << 16
    /// Bytes behind a page that must be there too.
    private static let overrun = 256

    /// The first byte of the file in memory, and how much of the file is mapped, whether it is there yet or not.
    private let base: UInt
    private let capacity: Int
    /// The size of the file, as far as it is known: it grows and never shrinks, as nothing here ever vacuums it.
    private let size = Atomic<Int>(0)

    /// Bytes that may be resident at once, whatever the size of the file.
    private let leastResident: Int
    /// A bit for each window that was touched since the last release, how many they are, and how many may be.
    private let words: Int
    // Every word is atomic, and they are freed with the last reference.
    nonisolated(unsafe) private let touched: UnsafeMutablePointer<Atomic<UInt>>
    private let count = Atomic<Int>(0)
    private let limit = Atomic<Int>(0)
    /// Pages that were refused since the last release.
    private let refused = Atomic<Int>(0)

    /// Below which pages records were seen, for those who read them.
    let interiorPages = InteriorPages()

    /// Maps the file at `path`, which exists; nil where the system cannot, and then it is read as ever. Before the process
    /// opens it otherwise: closing a descriptor of a file gives up the process's locks of it.
    /// - Parameters:
    ///   - capacity: how many bytes of the file, from its beginning, are looked at so.
    ///   - resident: how many bytes may be resident; three quarters of the file, where that is more.
    init?(path: String, capacity: Int, resident: Int) {
        guard capacity > 0 else { return nil }
        // For writing, as SQLite opens it: a file system of layers may have another file for whoever writes.
        let descriptor = FileSystem.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { Glibc.close(descriptor) }
        let flags = MAP_SHARED | MAP_NORESERVE
        guard let memory = mmap(nil, capacity, PROT_READ, flags, descriptor, 0), memory != MAP_FAILED else {
            return nil
        }
        base = UInt(bitPattern: memory)
        self.capacity = capacity
        leastResident = resident
        words = (capacity / Self.window + 2) / UInt.bitWidth + 1
        touched = .allocate(capacity: words)
        for index in 0..<words { (touched + index).initialize(to: Atomic(0)) }
    }

    deinit {
        munmap(UnsafeMutableRawPointer(bitPattern: base), capacity)
        touched.deinitialize(count: words).deallocate()
    }

    /// How many bytes count as resident.
    var residentBytes: Int { count.load(ordering: .relaxed) * Self.window }

    // MARK: Reading

    /// The bytes of the file from `offset`; nil where they are to be read.
    /// - Parameter currentSize: asks for the size of the file.
    func bytes(at offset: Int, count: Int, currentSize: () -> Int?) -> UnsafeMutableRawPointer? {
        // SQLite reads a little behind the end of a page that is damaged.
        let end = offset + count + Self.overrun
        guard end <= capacity else { return nil }
        if end > size.load(ordering: .relaxed) {
            guard let current = currentSize(), end <= current else { return nil }
            size.store(current, ordering: .relaxed)
            limit.store(max(leastResident, current / 4 * 3) / Self.window, ordering: .relaxed)
        }
        let address = base + UInt(offset)
        return touch(address) ? UnsafeMutableRawPointer(bitPattern: address) : nil
    }

    /// The bytes of the file from `offset`, where all are known to be there, and bytes of the same window were looked at
    /// before.
    func seenBytes(at offset: Int, count: Int) -> UnsafeRawPointer? {
        let end = offset + count + Self.overrun
        guard offset >= 0, end <= min(capacity, knownSize) else { return nil }
        let address = base + UInt(offset)
        return wasTouched(window(of: address)) ? UnsafeRawPointer(bitPattern: address) : nil
    }

    /// How far into the file an address is.
    func offset(of address: UnsafeRawPointer) -> Int { Int(UInt(bitPattern: address) - base) }

    /// The size of the file, as far as it is known.
    var knownSize: Int { size.load(ordering: .relaxed) }

    // MARK: Windows

    private func window(of address: UInt) -> Int { Int(address / UInt(Self.window) - base / UInt(Self.window)) }

    private func word(of window: Int) -> UnsafeMutablePointer<Atomic<UInt>> { touched + window / UInt.bitWidth }

    private func bit(of window: Int) -> UInt { 1 << (UInt(window) % UInt(UInt.bitWidth)) }

    private func wasTouched(_ window: Int) -> Bool {
        word(of: window).pointee.load(ordering: .relaxed) & bit(of: window) != 0
    }

    /// Whether the window of an address is, or may become, resident. A page in one that may not is cheaper read than
    /// looked at, as another would have to go for it.
    private func touch(_ address: UInt) -> Bool {
        let window = window(of: address)
        if wasTouched(window) { return true }
        guard count.load(ordering: .relaxed) < limit.load(ordering: .relaxed) else {
            refuse()
            return false
        }
        let bit = bit(of: window)
        if word(of: window).pointee.bitwiseOr(bit, ordering: .relaxed).oldValue & bit == 0 {
            count.add(1, ordering: .relaxed)
        }
        return true
    }

    /// Begins anew once as many pages were refused that it costs little beside them: others may be in demand now.
    private func refuse() {
        let refusals = refused.add(1, ordering: .relaxed).newValue
        guard refusals >= Self.refusalsPerWindow * (limit.load(ordering: .relaxed) + 1) else { return }
        refused.store(0, ordering: .relaxed)
        for index in 0..<words { touched[index].store(0, ordering: .relaxed) }
        count.store(0, ordering: .relaxed)
        // Whoever looks at a page goes on: the system gives it again.
        madvise(UnsafeMutableRawPointer(bitPattern: base), capacity, MADV_DONTNEED)
    }

    /// To make a window resident again takes as long as reading some ten pages, so beginning anew costs a few per cent.
    private static let refusalsPerWindow = 256
}
