import NephosCrypto
import NephosStorage
package import NephosWire

/// A file that may be downloaded. It can be read to its end also when it is deleted meanwhile.
package final class DownloadedAsset: Sendable {
    private let file: any AssetFileReader
    private let threads: FileThreads
    /// Bytes of the file.
    package let size: Int64
    /// What tells its content from others.
    package let content: String

    init(_ file: any AssetFileReader, _ asset: AssetRow, _ threads: FileThreads) {
        self.file = file
        self.threads = threads
        size = asset.size
        content = AssetContent.name(asset.content)
    }

    /// Reads bytes at an offset without waiting for the disk; nil where it would have to.
    package func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? {
        try file.readNow(into: buffer, at: offset)
    }

    /// Reads up to `count` bytes at an offset on a thread that may wait, and calls `completion` there.
    package func read(
        _ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
    ) {
        threads.start { [self] in completion(Result { try read(count, at: offset) }) }
    }

    /// Writes the file to a path where none is.
    /// - Parameter progress: is called with how many bytes were written.
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
    /// Says where files may be uploaded (CloudKit Web Services, assets/upload).
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

    /// Gives values by which files of existing fields can be saved in other fields (CloudKit Web Services,
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

    /// Begins to receive a file that is uploaded to an address of `assetUploads`.
    /// - Parameters:
    ///   - token: the last part of the address.
    ///   - size: bytes of the file; nil where they are not known.
    package func beginUpload(
        _ token: String, size: Int64?, container: String, _ environment: ContainerEnvironment, requestID: String
    ) async throws(ServiceError) -> AssetUpload {
        try await withStore(container, environment, requestID) { store in
            let tokens = store.tokens
            let now = self.environment.now()
            guard let upload = tokens.upload(token),
                AssetTokens.isGood(until: upload.expires, lifetime: Limits.uploadLifetime, now: now)
            else { throw ServiceError.uploadExpired }
            let owner = upload.target.zone.owner
            let target = upload.target
            let (used, mayUpload) = try await store.engine.read { reader in
                guard try Self.hasAccount(target.account, reader) else { return (Int64(0), false) }
                let isShared = target.zone.isShared(with: target.account)
                let shared = isShared ? try SharedAsset(target.zone, account: target.account, reader) : nil
                return (try reader.assetBytes(owner: owner), try !isShared || shared?.mayWrite() == true)
            }
            guard mayUpload else { throw ServiceError.uploadExpired }
            let limit = self.configuration.assetSize
            let reservation = try store.assets.uploads.begin(
                AssetUploads.Terms(
                    account: upload.target.account, owner: owner,
                    sizeLimit: upload.isSealed
                        ? min(ContentSeal.sealedSize(of: limit), Limits.largestAssetSize) : limit,
                    databaseLimit: self.configuration.assetBytesPerDatabase, databaseBytes: used), size: size)
            let file = try await store.assets.files.threads.run { [assets = store.assets] in
                guard try assets.hasRoom(for: size ?? 0) else { throw ServiceError.noRoomForAssets }
                return try assets.files.makeFile()
            }
            let access = AssetAccess(
                tokens, baseURL: "", account: upload.target.account, now: now, hasAssets: true)
            return AssetUpload(store, upload, access, reservation, file, announced: size)
        }
    }

    /// Opens a file that is downloaded from an address of a record's asset.
    /// - Parameters:
    ///   - content: the part of the address that names the content.
    ///   - token: the part behind it.
    package func openAsset(
        _ content: String, _ token: String, container: String, _ environment: ContainerEnvironment, requestID: String
    ) async throws(ServiceError) -> DownloadedAsset {
        try await withStore(container, environment, requestID) { store in
            guard let download = store.tokens.download(token), AssetContent.name(download.content) == content,
                AssetTokens.isGood(
                    until: download.expires, lifetime: Limits.downloadLifetime, now: self.environment.now())
            else { throw ServiceError.assetNotFound }
            guard var asset = try await self.asset(of: download, in: store) else { throw ServiceError.assetNotFound }
            var file = try await store.assets.open(asset.file)
            if file == nil, let now = try await self.asset(of: download, in: store), now.file != asset.file {
                // An upload of the same content has taken its place since.
                asset = now
                file = try await store.assets.open(now.file)
            }
            guard let file else { throw ServiceError.assetNotFound }
            guard file.size == asset.size else {
                throw StorageError(.damaged, "the asset file \(asset.file) has \(file.size) bytes, not \(asset.size)")
            }
            return DownloadedAsset(file, asset, store.assets.files.threads)
        }
    }

    /// The row of the file that an address leads to; nil where it leads nowhere any more.
    private func asset(of download: AssetTokens.Download, in store: Store) async throws -> AssetRow? {
        try await store.engine.read { reader -> AssetRow? in
            guard try Self.hasAccount(download.account, reader) else { return nil }
            if download.zone.isShared(with: download.account) {
                let shared = try SharedAsset(download.zone, account: download.account, reader)
                guard try shared?.mayRead(download.recordName) == true else { return nil }
            }
            return try reader.asset(owner: download.zone.owner, content: download.content)
        }
    }

    /// Whether the account that an address was given to was not deleted since; 0 is no account.
    private static func hasAccount(_ account: Int64, _ reader: any StorageReader) throws -> Bool {
        try account == 0 || reader.liveAccount(id: account) != nil
    }

    /// A request that authorises itself, so that it names no database and no account.
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
