import NephosCrypto
import NephosStorage
import NephosThreads
package import NephosWire

/// An open asset file that a caller may download. The file stays readable even if it is deleted meanwhile.
package final class DownloadedAsset: Sendable {
    private let file: any AssetFileReader
    private let threads: BlockingPool
    /// The size of the file in bytes.
    package let size: Int64
    /// The name of the file's content (`AssetContent`), which identifies the content.
    package let content: String
    /// The name of the account to which the address was given; nil if the address was given without an account.
    package let account: String?

    init(_ file: any AssetFileReader, _ asset: AssetRow, for account: AccountRow?, _ threads: BlockingPool) {
        self.file = file
        self.threads = threads
        size = asset.size
        content = AssetContent.name(asset.content)
        self.account = account?.name
    }

    /// Reads bytes at an offset without waiting for the disk; returns nil if the read would have to wait.
    package func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? {
        try file.readNow(into: buffer, at: offset)
    }

    /// Reads up to `count` bytes at an offset on a thread that may block, and calls `completion` on that thread.
    package func read(
        _ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
    ) {
        threads.start { [self] in
            completion(Result { try read(count, at: offset) })
        } orFail: {
            completion(.failure($0))
        }
    }

    /// Writes the asset to a new file at a path; fails if a file exists there.
    /// - Parameter progress: called with the number of bytes written so far.
    package func copy(
        toFile path: String, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        do {
            try await threads.run { [self] in
                let target = try FileTarget(path)
                var offset: Int64 = 0
                while offset < size {
                    let piece = try read(FileSource.pieceSize, at: offset)
                    guard !piece.isEmpty else { throw StorageError(.damaged, "an asset file has lost its end") }
                    try target.write(piece)
                    offset += Int64(piece.count)
                    progress(offset)
                }
            }
        } catch {
            throw (error as? ServiceError) ?? .diskFailure
        }
    }

    private func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }
}

extension NephosService {
    /// Returns upload addresses for files (CloudKit Web Services, assets/upload).
    package func assetUploads(
        _ request: AssetUploadRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AssetUploadResponse {
        try await perform(context) { store, caller in
            _ = try caller.requireAccount()
            let tokens = AssetUploadTokens(request: request, caller: caller)
            try tokens.validate()
            let moment = store.schemas.now
            return try await store.read(by: caller) { [environment] reader in
                let permissions = try RecordPermissions(caller, store.schemas, asOf: moment, reader)
                return try tokens.run(permissions, makeRecordName: environment.makeUUID, reader)
            }
        }
    }

    /// Returns receipts with which the files of existing fields can be saved in other fields (CloudKit Web Services,
    /// assets/rereference).
    package func rereferenceAssets(
        _ request: RereferenceRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RereferenceResponse {
        try await perform(context) { store, caller in
            _ = try caller.requireAccount()
            let rereference = RereferenceAssets(request: request, caller: caller)
            try rereference.validate()
            let moment = store.schemas.now
            return try await store.write(by: caller) { transaction in
                let permissions = try RecordPermissions(caller, store.schemas, asOf: moment, transaction)
                return try rereference.run(permissions, transaction)
            }
        }
    }

    /// Begins to receive a file that a client uploads to an address from `assetUploads`.
    /// - Parameters:
    ///   - token: the last part of the address.
    ///   - size: the number of bytes of the file; nil if unknown.
    package func beginUpload(
        _ token: String, size: Int64?, container: String, _ environment: ContainerEnvironment, requestID: String
    ) async throws(ServiceError) -> AssetUpload {
        try await withStore(container, environment, requestID) { store in
            let tokens = store.tokens
            let now = self.environment.now()
            guard let upload = tokens.upload(token),
                AssetTokens.isGood(until: upload.expires, lifetime: Limits.uploadLifetime, now: now)
            else { throw ServiceError.uploadExpired }
            let reservation = try await self.reserve(upload, size: size, in: store)
            let file = try await store.assets.files.threads.run { [assets = store.assets] in
                guard try assets.hasRoom(for: size ?? 0) else { throw ServiceError.noRoomForAssets }
                return try assets.files.makeFile()
            }
            let access = AssetAddresses(
                tokens, baseURL: "", account: upload.target.account, now: now, hasAssets: true,
                databaseLimit: store.assets.databaseLimit)
            return AssetUpload(store, upload, access, reservation, file, announced: size)
        }
    }

    /// Returns the session with which an upload ends; nil for an address that was given without one, and for a text that
    /// is no address of this service.
    package func session(
        ofUpload token: String, container: String, _ environment: ContainerEnvironment, requestID: String
    ) async throws(ServiceError) -> String? {
        try await withStore(container, environment, requestID) { store in
            store.tokens.upload(token).flatMap { $0.session.isEmpty ? nil : $0.session }
        }
    }

    /// Reserves capacity for an upload in the account's own database, or among the account's unsaved uploads.
    private func reserve(
        _ upload: AssetTokens.Upload, size: Int64?, in store: Store
    ) async throws -> AssetUploads.Reservation {
        let (assets, target, limit) = (store.assets, upload.target, store.assets.databaseLimit)
        let fileLimit =
            upload.isSealed
            ? min(ContentSeal.sealedSize(of: configuration.assetSize), Limits.largestAssetSize)
            : configuration.assetSize
        let isUnsaved = UnsavedUpload.isOne(for: target)
        let (own, uploads) = (OwnerID(rawValue: target.account), OwnerID.uploads(of: target.account))
        var used = try await usedBytes(target, in: store)
        let missing = used.database + (size ?? fileLimit) - limit
        // An upload evicts nothing from another account's private database: the uploads of that database's owner must
        // stay.
        if missing > 0, !target.zone.isShared(with: target.account) {
            try await assets.makeRoom(for: missing, in: target.zone.owner)
            used = try await usedBytes(target, in: store)
        }
        guard isUnsaved else {
            return try assets.uploads.begin(
                AssetUploads.Terms(
                    account: target.account, owner: own, sizeLimit: fileLimit, databaseLimit: limit,
                    databaseBytes: used.database), size: size)
        }
        guard used.database + (size ?? 0) <= limit else { throw ServiceError.assetQuotaExceeded(limit: limit) }
        // One file of the maximum size fits even if the account's own database is full.
        return try assets.uploads.begin(
            AssetUploads.Terms(
                account: target.account, owner: uploads, sizeLimit: fileLimit,
                databaseLimit: max(limit - used.own, fileLimit), databaseBytes: used.uploads), size: size)
    }

    /// The number of bytes of files in the upload's database, in the account's own database, and among its unsaved
    /// uploads.
    /// - Throws: `uploadExpired`, `tooManyUnsavedUploads`.
    private func usedBytes(
        _ target: AssetTarget, in store: Store
    ) async throws -> (database: Int64, own: Int64, uploads: Int64) {
        let isUnsaved = UnsavedUpload.isOne(for: target)
        let (own, uploads) = (OwnerID(rawValue: target.account), OwnerID.uploads(of: target.account))
        return try await store.engine.read { reader in
            guard try UploadRight(target, reader).isThere else { throw ServiceError.uploadExpired }
            let hasTooMany =
                try isUnsaved
                && reader.assetCount(owner: uploads, limit: Limits.unsavedUploads) >= Limits.unsavedUploads
            if hasTooMany { throw ServiceError.tooManyUnsavedUploads }
            return (
                try StoreAssets.bytes(of: target.zone.owner, reader), try reader.assetBytes(owner: own),
                try reader.assetBytes(owner: uploads)
            )
        }
    }

    /// Opens a file for download at the address of a record's asset.
    /// - Parameters:
    ///   - content: the part of the address that names the content.
    ///   - token: the part of the address after `content`.
    package func openAsset(
        _ content: String, _ token: String, container: String, _ environment: ContainerEnvironment, requestID: String
    ) async throws(ServiceError) -> DownloadedAsset {
        try await withStore(container, environment, requestID) { store in
            guard let download = store.tokens.download(token), AssetContent.name(download.content) == content,
                AssetTokens.isGood(
                    until: download.expires, lifetime: Limits.downloadLifetime, now: self.environment.now())
            else { throw ServiceError.assetNotFound }
            guard let found = try await self.file(of: download, in: store) else { throw ServiceError.assetNotFound }
            let account = found.1
            var asset = found.0
            var file = try await store.assets.open(asset.file)
            if file == nil, let (now, _) = try await self.file(of: download, in: store), now.file != asset.file {
                // Since the first look-up, an upload of the same content has replaced the file.
                asset = now
                file = try await store.assets.open(now.file)
            }
            guard let file else { throw ServiceError.assetNotFound }
            guard file.size == asset.size else {
                throw StorageError(.damaged, "the asset file \(asset.file) has \(file.size) bytes, not \(asset.size)")
            }
            return DownloadedAsset(file, asset, for: account, store.assets.files.threads)
        }
    }

    private func file(
        of download: AssetTokens.Download, in store: Store
    ) async throws -> (AssetRow, AccountRow?)? {
        let moment = store.schemas.now
        return try await store.engine.read { reader in
            try AssetDownload(download).file(store.schemas.schema(asOf: moment, reader), reader)
        }
    }

    /// Runs a request that is authorised by its token, so that the request names no database and no account.
    private func withStore<Response: Sendable>(
        _ container: String, _ environment: ContainerEnvironment, _ requestID: String,
        _ body: (Store) async throws -> Response
    ) async throws(ServiceError) -> Response {
        do {
            let id = StoreID(container: container, environment: environment.rawValue)
            return try await stores.usingExisting(id) { store in
                guard let store else { throw ServiceError.assetNotFound }
                return try await body(store)
            }
        } catch {
            throw translate(error, requestID: requestID)
        }
    }
}
