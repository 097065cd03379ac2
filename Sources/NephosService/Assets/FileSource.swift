import Glibc
import NephosStorage

/// A local file that a caller in the same process uploads. Every method blocks the calling thread.
final class FileSource: Sendable {
    static let pieceSize = 1 << 20
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
    }

    deinit { close(descriptor) }

    /// The file's next piece, from the offset; empty at the end of the file.
    func read(at offset: Int64) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
            let found = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            guard found >= 0 else { throw StorageError(system: errno, while: "reading a file") }
            count = found
        }
    }
}

/// A new local file into which a caller in the same process downloads an asset. Every method blocks the calling thread.
final class FileTarget {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "making \(path)") }
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw StorageError(system: errno, while: "writing a file") }
            rest = rest.dropFirst(count)
        }
    }
}
