import NephosStorage
import NephosThreads
import Synchronization

/// The asset files of a store: uploads in progress, stored files, and condemned files.
final class StoreAssets: Sendable {
    let files: any AssetStore
    let uploads = AssetUploads()
    /// The maximum number of bytes of all files per database.
    let databaseLimit: Int64
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let anyAsset = Atomic(false)
    private let collection = WorkLoop()
    /// The time of the next collection of unneeded files, in milliseconds since 1970.
    private let nextCollection = Mutex(Int64.min)

    init(
        _ files: any AssetStore, _ engine: any StorageEngine, _ environment: ServiceEnvironment, databaseLimit: Int64
    ) {
        self.databaseLimit = databaseLimit
        self.files = files
        self.engine = engine
        self.environment = environment
    }

    /// Whether the store has any asset file. If it has none, records are not searched for assets.
    var hasAssets: Bool { anyAsset.load(ordering: .acquiring) }

    /// Determines `hasAssets`, and cleans up after a process that was killed between publishing a file and committing
    /// the file's row.
    func resume() async throws {
        // Another server may store the first file at any time.
        let any = try await engine.isShared ? true : engine.read { try $0.hasAssets() }
        anyAsset.store(any, ordering: .releasing)
        // Other servers may be receiving files, so only old leftovers are cleaned up.
        try await endLeftovers(olderThan: engine.isShared ? Self.leftoverAge : 0)
    }

    /// The age, in seconds, after which an unfinished upload counts as abandoned.
    private static let leftoverAge = Limits.receiptLifetime / 1000

    /// Cleans up published files that may have no row. A process left them when it ended or while object storage was
    /// unreachable.
    private func endLeftovers(olderThan age: Int64) async throws {
        let left = try await files.threads.run { [files] in try files.leftovers(olderThan: age) }
        if left.isEmpty { return }
        let known = try await engine.read { reader in
            try left.map { try reader.hasAssetFile(named: $0.name) }
        }
        let end = { @Sendable [files, environment] in
            try await files.threads.run {
                for (leftover, hasRow) in zip(left, known) {
                    do {
                        try leftover.end(hasRow)
                    } catch {
                        environment.log("the unfinished file \(leftover.name) stays: \(error)")
                    }
                }
            }
        }
        // Saves of records must not wait for unreachable object storage.
        if files.threads === BlockingPool.network { Task { try await end() } } else { try await end() }
    }

    /// Whether the bytes fit on the disk and leave `Limits.freeDisk` for saves of records.
    func hasRoom(for bytes: Int64) throws -> Bool {
        guard let free = try files.freeBytes() else { return true }
        return free - bytes >= Limits.freeDisk
    }

    /// Opens a published file; returns nil if no file has the name.
    func open(_ name: String) async throws -> (any AssetFileReader)? {
        if let file = try files.openNow(name) { return file }
        return try await files.threads.run { [files] in try files.open(name) }
    }

    /// Stores an uploaded file. A database stores each content once, so the upload of a known content is discarded,
    /// unless the stored file is missing or damaged: then the upload replaces it. An unsaved upload always replaces the
    /// account's earlier upload of the same content for the same field.
    /// - Parameters:
    ///   - limit: the maximum number of bytes of all files of the owner.
    ///   - check: throws if the file may no longer be stored.
    func keep(
        _ asset: AssetRow, _ file: any AssetFileWriter, limit: Int64,
        _ check: @escaping @Sendable (StorageReader) throws -> Void
    ) async throws -> AssetRow {
        let isUnsaved = asset.owner.rawValue < 0
        let known = isUnsaved ? nil : try await engine.read { try $0.asset(owner: asset.owner, content: asset.content) }
        let isWhole = if let known { await StoredContent.isWhole(known, in: files) } else { false }
        if isWhole,
            let kept = try await engine.write(
                of: [asset.owner],
                { transaction in
                    try check(transaction)
                    return try Self.keepKnown(asset, transaction)
                })
        {
            file.discard()
            return kept
        }
        let damaged = isWhole ? nil : known
        var asset = asset
        // File names are unique, so a deletion in progress cannot remove a newer file of the same content.
        asset.file = "\(AssetContent.name(asset.content))-\(environment.makeUUID().filter { $0 != "-" }.lowercased())"
        let name = asset.file
        try await files.threads.run { try file.publish(as: name) }
        let kept: AssetRow
        do {
            kept = try await insert(asset, insteadOf: damaged, limit: limit, check)
        } catch {
            // If the outcome of the commit is unknown, the file's row may exist, so the file stays.
            if (error as? StorageError)?.code != .unknownOutcome { try? await files.threads.run { file.discard() } }
            throw error
        }
        try await files.threads.run { if kept.file == name { try file.settle() } else { file.discard() } }
        collectIfDue()
        return kept
    }

    /// Inserts the row of a published file.
    /// - Returns: the content's row, which names another file if another upload stored the content first.
    private func insert(
        _ new: AssetRow, insteadOf damaged: AssetRow?, limit: Int64,
        _ check: @escaping @Sendable (StorageReader) throws -> Void
    ) async throws -> AssetRow {
        // Set before the commit: a reader of a record with the file must find `hasAssets` true.
        anyAsset.store(true, ordering: .releasing)
        return try await engine.write(of: [new.owner]) { transaction in
            try check(transaction)
            if var known = try Self.keepKnown(new, transaction) {
                // If another file replaced `damaged` since the check, another upload stored that file, and the file is
                // intact.
                guard new.owner.rawValue < 0 || known.file == damaged?.file else { return known }
                try transaction.replaceFile(of: known, by: new.file)
                known.file = new.file
                return known
            }
            // Concurrent uploads may have used the quota since this upload began.
            guard try Self.bytes(of: new.owner, transaction) + new.size <= limit else {
                throw ServiceError.assetQuotaExceeded(limit: limit)
            }
            try transaction.insert(new)
            return new
        }
    }

    /// The number of bytes of an owner's files. For an account, this includes its unsaved uploads to other databases.
    static func bytes(of owner: OwnerID, _ reader: StorageReader) throws -> Int64 {
        let bytes = try reader.assetBytes(owner: owner)
        guard owner.rawValue > 0 else { return bytes }
        return try bytes + reader.assetBytes(owner: .uploads(of: owner.rawValue))
    }

    /// Condemns a database's files that have no reference and no valid receipt, oldest first, before their retention
    /// ends. Otherwise these files would use the quota that the owner's uploads need.
    /// - Parameter bytes: the number of bytes to free.
    func makeRoom(for bytes: Int64, in owner: OwnerID) async throws {
        // A file that is unreferenced now is retained until before this time. A file with a receipt is retained longer.
        let time = environment.now() + Limits.assetRetention + 1
        var missing = bytes
        for _ in 0..<Limits.collectionStepsForRoom where missing > 0 {
            let unneeded = try await engine.read(expecting: .long) {
                try $0.unneededAssets(owner: owner, neededBefore: time, limit: Limits.assetsPerCollectionStep)
            }
            let (chosen, enough) = Self.first(of: unneeded, with: missing)
            let freed = try await engine.write(of: [owner]) { transaction -> Int64 in
                var freed: Int64 = 0
                for row in chosen {
                    // A save may have referenced the file since it was read.
                    guard let now = try transaction.asset(owner: owner, content: row.content), now.neededUntil < time
                    else { continue }
                    try transaction.condemn(now)
                    freed += now.size
                }
                return freed
            }
            missing -= freed
            if !enough { break }
        }
        collectNow()
    }

    /// - Returns: the first rows whose files have at least `bytes` bytes together, and whether there may be more rows.
    private static func first(of rows: [AssetRow], with bytes: Int64) -> ([AssetRow], Bool) {
        var (sum, count) = (Int64(0), 0)
        while count < rows.count, sum < bytes {
            sum += rows[count].size
            count += 1
        }
        return (Array(rows[..<count]), rows.count == Limits.assetsPerCollectionStep)
    }

    private static func keepKnown(_ asset: AssetRow, _ transaction: StorageTransaction) throws -> AssetRow? {
        guard let known = try transaction.asset(owner: asset.owner, content: asset.content) else { return nil }
        try transaction.keepAsset(owner: asset.owner, content: asset.content, until: asset.neededUntil)
        return known
    }

    // MARK: Collection

    /// Wakes the collection of unneeded files if it is due.
    func collectIfDue() {
        let now = environment.now()
        guard nextCollection.withLock({ $0 }) <= now else { return }
        collection.wake { [self] in
            do {
                let now = environment.now()
                try await collect(neededBefore: now)
                try await endLeftovers(olderThan: Self.leftoverAge)
                nextCollection.withLock { $0 = now + Limits.purgeInterval }
                return true
            } catch {
                environment.log("collecting assets: \(error)")
                return false
            }
        }
    }

    /// Wakes the collection even if it is not due.
    func collectNow() {
        nextCollection.withLock { $0 = .min }
        collectIfDue()
    }

    /// Returns once no collection is running.
    func settle() async { await collection.waitUntilIdle() }

    /// Stops the collection.
    func stop() async { await collection.close() }

    /// Deletes the files that were unneeded before a time. Their rows are condemned first, in transactions serialised
    /// with saves, so that no record refers to a file being deleted. The next collection deletes files that a crash
    /// left.
    func collect(neededBefore time: Int64) async throws {
        let limit = Limits.assetsPerCollectionStep
        // Most collections find nothing, so a read comes first: it costs no commit.
        while try await engine.read({ try $0.hasAsset(neededBefore: time) }) {
            _ = try await engine.write { try $0.condemnAssets(neededBefore: time, limit: limit) }
        }
        while true {
            let condemned = try await engine.read { try $0.condemnedAssetFiles(limit: limit) }
            if condemned.isEmpty { return }
            let isRemoved = try await files.threads.run { [files] in
                // A running backup may need the files, so the files stay condemned until the next collection.
                guard let lock = try files.lockForRemoval() else { return false }
                for file in condemned { try files.remove(file) }
                return withExtendedLifetime(lock) { true }
            }
            guard isRemoved else { return }
            try await engine.write { for file in condemned { try $0.removeCondemnedAsset(file: file) } }
        }
    }

    /// The error that the client receives. Internal errors are logged, not sent.
    func translate(_ error: any Error) -> ServiceError {
        if let error = error as? ServiceError { return error }
        if error is CancellationError { return .unavailable }
        environment.log("assets: \(error)")
        switch (error as? StorageError)?.code {
        case .closed: return .unavailable
        case .removed: return .containerDeleted
        default: return .diskFailure
        }
    }

    func close() { files.close() }
}
