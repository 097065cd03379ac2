import Foundation
import Glibc
import NephosCrypto
import NephosThreads

/// The bytes of an asset that are uploaded: those of its file, plain or sealed.
package struct AssetContent: Sendable {
    package let file: URL
    /// The number of bytes to upload.
    package let size: Int64
    /// The sealed bytes; nil if the file is uploaded unsealed.
    package let sealed: SealedPieces?

    /// - Parameters:
    ///   - size: the size of the file in bytes.
    ///   - key: the key that seals the file; nil to upload it unsealed.
    init(file: URL, size: Int64, key: SealKey?) {
        self.file = file
        self.size = key == nil ? size : ContentSeal.sealedSize(of: size)
        sealed = key.map { SealedPieces(file: file, size: size, $0) }
    }
}

/// A file that is sealed piece by piece, in constant memory.
package final class SealedPieces: Sendable {
    /// The number of chunks per piece.
    private static let chunks = 16

    private struct State {
        var descriptor: Int32?
        var index: Int64 = 0
    }

    private let file: URL
    private let size: Int64
    private let seal: ContentSeal
    private let state = Locked(State())

    fileprivate init(file: URL, size: Int64, _ key: SealKey) {
        self.file = file
        self.size = size
        seal = ContentSeal(key)
    }

    deinit { if let descriptor = state.withLock({ $0.descriptor }) { close(descriptor) } }

    /// Returns the next piece; nil after the last. Callers request one piece at a time.
    /// - Throws: `AssetFileFailure` if the file cannot be read, or has become shorter.
    package func next() async throws -> [UInt8]? {
        try await BlockingPool.files.run { try self.state.withLock { try self.next(&$0) } }
    }

    private func next(_ state: inout State) throws(AssetFileFailure) -> [UInt8]? {
        let count = ContentSeal.chunkCount(of: size)
        guard state.index < count else { return nil }
        let descriptor = if let descriptor = state.descriptor { descriptor } else { try open() }
        state.descriptor = descriptor
        let start = state.index * Int64(ContentSeal.chunkSize)
        let content = try read(descriptor, Int(min(Int64(Self.chunks * ContentSeal.chunkSize), size - start)))
        var piece = state.index == 0 ? seal.header : []
        piece.reserveCapacity(piece.count + Self.chunks * ContentSeal.sealedChunkSize)
        var rest = content[...]
        repeat {
            let chunk = rest.prefix(ContentSeal.chunkSize)
            rest = rest.dropFirst(chunk.count)
            let (index, isLast) = (state.index, state.index == count - 1)
            piece += [UInt8](unsafeUninitializedCapacity: chunk.count + ContentSeal.tagSize) { buffer, written in
                chunk.withUnsafeBytes {
                    seal.seal($0, index: index, isLast: isLast, into: UnsafeMutableRawBufferPointer(buffer))
                }
                written = chunk.count + ContentSeal.tagSize
            }
            state.index += 1
        } while !rest.isEmpty
        return piece
    }

    private func open() throws(AssetFileFailure) -> Int32 {
        let descriptor = Glibc.open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw errno == ENOENT ? .notFound(file.path) : .unreadable(file.path) }
        return descriptor
    }

    private func read(_ descriptor: Int32, _ count: Int) throws(AssetFileFailure) -> [UInt8] {
        var failure: AssetFileFailure?
        let content = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let some = Glibc.read(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled)
                if some < 0 && errno == EINTR { continue }
                if some <= 0 {
                    failure = some < 0 ? .unreadable(file.path) : .modified(file.path)
                    return
                }
                filled += some
            }
        }
        if let failure { throw failure }
        return content
    }
}

/// Opens sealed files. All functions block.
enum SealedFile {
    /// The file was not sealed with this key, or was changed or truncated.
    struct DoesNotOpen: Error {}

    static func open(ofFileAt source: String, with key: SealKey, to path: String) throws {
        let descriptor = Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown) }
        defer { close(descriptor) }
        try open(descriptor, with: key, to: path)
    }

    /// Opens a sealed file into a new file, in constant memory. Removes the new file after a failure.
    static func open(_ source: Int32, with key: SealKey, to path: String) throws {
        var status = stat()
        guard fstat(source, &status) == 0 else { throw CocoaError(.fileReadUnknown) }
        guard let size = ContentSeal.size(ofSealed: Int64(status.st_size)) else { throw DoesNotOpen() }
        let target = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw CocoaError(.fileWriteUnknown) }
        defer { close(target) }
        do {
            try open(source, size: size, with: key, to: target)
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func open(_ source: Int32, size: Int64, with key: SealKey, to target: Int32) throws {
        var sealed = [UInt8](repeating: 0, count: ContentSeal.sealedChunkSize)
        var content = [UInt8](repeating: 0, count: ContentSeal.chunkSize)
        try fill(&sealed, ContentSeal.headerSize, from: source)
        guard let seal = ContentSeal(key, header: sealed.prefix(ContentSeal.headerSize)) else { throw DoesNotOpen() }
        let count = ContentSeal.chunkCount(of: size)
        for index in 0..<count {
            let isLast = index == count - 1
            let length = isLast ? Int(size - index * Int64(ContentSeal.chunkSize)) : ContentSeal.chunkSize
            try fill(&sealed, length + ContentSeal.tagSize, from: source)
            let opens = sealed.withUnsafeBytes { sealed in
                content.withUnsafeMutableBytes { content in
                    seal.open(
                        UnsafeRawBufferPointer(rebasing: sealed[..<(length + ContentSeal.tagSize)]), index: index,
                        isLast: isLast, into: UnsafeMutableRawBufferPointer(rebasing: content[..<length]))
                }
            }
            guard opens else { throw DoesNotOpen() }
            try content.withUnsafeBytes {
                try FileCopy.write(UnsafeRawBufferPointer(rebasing: $0[..<length]), to: target)
            }
        }
    }

    private static func fill(_ buffer: inout [UInt8], _ count: Int, from source: Int32) throws {
        var filled = 0
        while filled < count {
            let some = buffer.withUnsafeMutableBytes {
                read(source, $0.baseAddress.map { $0 + filled }, count - filled)
            }
            if some < 0 && errno == EINTR { continue }
            guard some >= 0 else { throw CocoaError(.fileReadUnknown) }
            guard some > 0 else { throw DoesNotOpen() }
            filled += some
        }
    }
}
