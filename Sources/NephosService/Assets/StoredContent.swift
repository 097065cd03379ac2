import NephosCrypto
import NephosStorage
import NephosThreads

/// Verifies that a stored file has its row's content.
///
/// The file is read piece by piece, so that other file work can run between two pieces. `@unchecked`: pieces are read
/// one at a time.
final class StoredContent: @unchecked Sendable {
    /// The number of bytes per piece.
    private static let pieceSize = 4 << 20

    private let file: any AssetFileReader
    private let hash = StreamingHash(.content)
    private var offset: Int64 = 0

    private init(_ file: any AssetFileReader) { self.file = file }

    /// Whether the file of a row can be read and has the row's content.
    static func isWhole(_ asset: AssetRow, in files: any AssetStore) async -> Bool {
        do {
            guard let file = try await files.threads.run({ try files.open(asset.file) }), file.size == asset.size else {
                return false
            }
            let content = StoredContent(file)
            while try await files.threads.run({ try content.readPiece() }) {}
            return content.hash.finish() == asset.content
        } catch {
            return false
        }
    }

    /// - Returns: whether there may be more pieces.
    private func readPiece() throws -> Bool {
        let piece = try [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
            count = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
        hash.update(piece)
        offset += Int64(piece.count)
        return !piece.isEmpty
    }
}
