import Glibc
import NephosStorage

/// A caller's local file, uploaded in the same process. Everything blocks.
final class FileSource: Sendable {
    static let pieceSize = 1 << 20
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "opening \(path)") }
    }

    deinit { close(descriptor) }

    /// The next piece; empty at the end.
    func read(at offset: Int64) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
            let found = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            guard found >= 0 else { throw StorageError(system: errno, while: "reading a file") }
            count = found
        }
    }
}

/// A new local file of the caller's, to which an asset is written. Everything blocks.
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
