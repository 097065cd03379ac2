import NephosCrypto
import NephosStorage
import NephosThreads
package import NephosWire
import Synchronization

/// A file that is being uploaded. One task appends the file's bytes, piece by piece. The file is discarded unless
/// `finish` is called.
package final class AssetUpload: Sendable {
    private let store: Store
    private let token: AssetTokens.Upload
    private let access: AssetAddresses
    private let reservation: AssetUploads.Reservation
    private let file: any AssetFileWriter
    private let hashes = Hashes()
    private let size = Mutex(Int64(0))
    /// The number of bytes that the client announced; nil if it announced none.
    private let announced: Int64?

    /// The hashes of the content that has arrived so far. Pieces may update the hashes on different threads.
    private final class Hashes: @unchecked Sendable {
        // `@unchecked`: one task appends the pieces, one at a time.
        let content = StreamingHash(.content)
        let checksum = FileChecksum()
    }

    init(
        _ store: Store, _ token: AssetTokens.Upload, _ access: AssetAddresses, _ reservation: AssetUploads.Reservation,
        _ file: any AssetFileWriter, announced: Int64?
    ) {
        self.store = store
        self.token = token
        self.access = access
        self.reservation = reservation
        self.file = file
        self.announced = announced
    }

    /// Appends a piece to the file.
    package func append(_ piece: [UInt8]) async throws(ServiceError) {
        let total = size.withLock { size in
            size += Int64(piece.count)
            return size
        }
        try reservation.grow(to: total)
        do {
            let hasRoom = try await BlockingPool.disk.run { [self] in
                guard try store.assets.hasRoom(for: Int64(piece.count)) else { return false }
                try piece.withUnsafeBytes { bytes in
                    hashes.content.update(bytes)
                    hashes.checksum.update(bytes)
                    try file.write(bytes)
                }
                return true
            }
            if !hasRoom { throw ServiceError.noRoomForAssets }
        } catch {
            throw store.assets.translate(error)
        }
    }

    /// Appends the bytes of a local file.
    /// - Parameter progress: called with the number of bytes appended so far.
    package func append(
        contentsOfFile path: String, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        do {
            let source = try await BlockingPool.disk.run { try FileSource(path) }
            var offset: Int64 = 0
            while true {
                try Task.checkCancellation()
                let start = offset
                let piece = try await BlockingPool.disk.run { try source.read(at: start) }
                if piece.isEmpty { return }
                try await append(piece)
                offset += Int64(piece.count)
                progress(offset)
            }
        } catch {
            throw store.assets.translate(error)
        }
    }

    /// Publishes the uploaded file.
    /// - Returns: the value with which a client saves the file in a field.
    package func finish() async throws(ServiceError) -> UploadedFile {
        let size = size.withLock { $0 }
        guard announced == nil || announced == size else {
            throw .invalid("\(size) bytes of the file arrived, and \(announced ?? 0) were announced: upload it again")
        }
        do {
            let (content, checksum) = try await BlockingPool.disk.run { [hashes] in
                (hashes.content.finish(), hashes.checksum.finish())
            }
            let target = token.target
            let isUnsaved = UnsavedUpload.isOne(for: target)
            let goodUntil = access.now + Limits.receiptLifetime
            var asset = AssetRow(
                owner: isUnsaved ? .uploads(of: target.account) : target.zone.owner,
                content: isUnsaved ? UnsavedUpload.key(content, target) : content, size: size, checksum: checksum,
                file: "", neededUntil: goodUntil + (isUnsaved ? Limits.clockSkew : Limits.assetRetention))
            asset = try await store.assets.keep(asset, file, limit: reservation.databaseLimit) { reader in
                guard try UploadRight(target, reader).isThere else { throw ServiceError.uploadExpired }
            }
            (asset.owner, asset.content) = (target.zone.owner, content)
            return UploadedFile(singleFile: access.receipt(asset, for: target, isPrivate: token.isPrivate))
        } catch {
            throw store.assets.translate(error)
        }
    }
}
