import NephosCrypto
import NephosStorage
import NephosThreads

/// The file of an asset in an export. It is verified while it is read, as a file of gigabytes is not read twice.
///
/// `@unchecked`: pieces are read one at a time.
final class ExportedFile: @unchecked Sendable {
    private static let pieceSize: Int64 = 512 * 1024

    /// The name of the content.
    let name: String
    /// Whether the file was read to its end as it was saved. Known after the last piece.
    private(set) var isWhole = false
    private let path: String
    private let file: any AssetFileReader
    private let row: AssetRow
    private let threads: BlockingPool
    private let hash = StreamingHash(.content)
    private var offset: Int64 = 0
    private var isAtEnd = false
    private var isBroken = false

    init(_ file: any AssetFileReader, _ row: AssetRow, _ path: String, _ threads: BlockingPool) {
        (self.file, self.row, self.path, self.threads) = (file, row, path, threads)
        name = AssetContent.name(row.hash)
    }

    /// Returns the next piece; nil after the last one. From where the file is damaged it has zeros, as the size of the
    /// archive's file was given before.
    /// - Throws: `StorageError` and `ThreadError` where another attempt may read the file.
    func next() async throws -> ExportPiece? {
        if isAtEnd { return nil }
        let count = Int(min(Self.pieceSize, row.size - offset))
        let bytes = try await read(count)
        hash.update(bytes)
        let piece = ExportPiece(path: path, size: row.size, offset: offset, bytes: bytes)
        offset += Int64(count)
        if offset == row.size {
            isAtEnd = true
            isWhole = !isBroken && hash.finish() == row.hash
        }
        return piece
    }

    private func read(_ count: Int) async throws -> [UInt8] {
        do {
            if !isBroken { return try await threads.run { [self] in try readNow(count) } }
        } catch let error as StorageError where Self.isDamage(error, threads) {
            isBroken = true
        }
        return [UInt8](repeating: 0, count: count)
    }

    /// Whether a file is damaged. A file on another machine may be readable again.
    static func isDamage(_ error: StorageError, _ threads: BlockingPool) -> Bool {
        error.code == .damaged || error.code == .inputOutput && threads !== BlockingPool.network
    }

    private func readNow(_ count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let whole = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count)
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: whole[filled...])
                let read = try file.read(into: rest, at: offset + Int64(filled))
                guard read > 0 else { throw StorageError(.damaged, "an asset file has lost its end") }
                filled += read
            }
        }
    }
}
