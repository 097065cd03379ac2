import NephosStorage
import NephosThreads
import Synchronization

/// The files of a store's assets: those being uploaded, those that are kept, and those that go.
final class StoreAssets: Sendable {
    let files: any AssetStore
    let uploads = AssetUploads()
    /// Bytes that a database's files may have.
    let databaseLimit: Int64
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let anyAsset = Atomic(false)
    private let collection = WorkLoop()
    /// When files that are not needed any more are looked for again, milliseconds since 1970.
    private let nextCollection = Mutex(Int64.min)

    init(
        _ files: any AssetStore, _ engine: any StorageEngine, _ environment: ServiceEnvironment, databaseLimit: Int64
    ) {
        self.databaseLimit = databaseLimit
        self.files = files
        self.engine = engine
        self.environment = environment
    }

    /// Whether the store has any file. Records of one that has none are not searched for assets.
    var hasAssets: Bool { anyAsset.load(ordering: .acquiring) }

    /// Finds out whether there are files, and ends what a process left that was killed between a file and its row.
    func resume() async throws {
        // Another server may keep the first one at any time.
        let any = try await engine.isShared ? true : engine.read { try $0.hasAssets() }
        anyAsset.store(any, ordering: .releasing)
        // Other servers may be receiving files.
        try await endLeftovers(olderThan: engine.isShared ? Self.leftoverAge : 0)
    }

    /// The age, in seconds, after which an announced upload counts as abandoned.
    private static let leftoverAge = Limits.receiptLifetime / 1000

    /// Ends what was published and may have no row: of a process that ended, or because object storage could not be told.
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
        // Records are not to wait for object storage that cannot be reached.
        if files.threads === BlockingPool.network { Task { try await end() } } else { try await end() }
    }

    /// Whether the disk has room for more bytes without taking it from what saves of records need.
    func hasRoom(for bytes: Int64) throws -> Bool {
        guard let free = try files.freeBytes() else { return true }
        return free - bytes >= Limits.freeDisk
    }

    /// Opens a published file; nil where there is none of that name.
    func open(_ name: String) async throws -> (any AssetFileReader)? {
        if let file = try files.openNow(name) { return file }
        return try await files.threads.run { [files] in try files.open(name) }
    }

    /// Keeps an uploaded file: a database has each content once, so that of one which is there already goes. Where the
    /// one that is there is missing or damaged, the uploaded file takes its place; so it does among an account's uploads.
    /// - Parameters:
    ///   - limit: bytes that its owner's files may have.
    ///   - check: throws where the file may not be kept any more.
    func keep(
        _ asset: AssetRow, _ file: any AssetFileWriter, limit: Int64,
        _ check: @escaping @Sendable (StorageReader) throws -> Void
    ) async throws -> AssetRow {
        let isUnsaved = asset.owner.rawValue < 0
        let known = isUnsaved ? nil : try await engine.read { try $0.asset(owner: asset.owner, content: asset.content) }
        let isWhole = if let known { await StoredContent.isWhole(known, in: files) } else { false }
        if isWhole,
            let kept = try await engine.write({ transaction in
                try check(transaction)
                return try Self.keepKnown(asset, transaction)
            })
        {
            file.discard()
            return kept
        }
        let damaged = isWhole ? nil : known
        var asset = asset
        // No name is given twice, so that no deletion that is under way meets a newer file of the same content.
        asset.file = "\(AssetContent.name(asset.content))-\(environment.makeUUID().filter { $0 != "-" }.lowercased())"
        let name = asset.file
        try await files.threads.run { try file.publish(as: name) }
        let kept: AssetRow
        do {
            kept = try await insert(asset, insteadOf: damaged, limit: limit, check)
        } catch {
            // Where the answer to the commit was lost, its row may be there.
            if (error as? StorageError)?.code != .unknownOutcome { try? await files.threads.run { file.discard() } }
            throw error
        }
        try await files.threads.run { if kept.file == name { try file.settle() } else { file.discard() } }
        collectIfDue()
        return kept
    }

    /// Inserts the row of a published file.
    /// - Returns: the row of the content, which names another file where that was there first.
    private func insert(
        _ new: AssetRow, insteadOf damaged: AssetRow?, limit: Int64,
        _ check: @escaping @Sendable (StorageReader) throws -> Void
    ) async throws -> AssetRow {
        // A reader of a record that has the file has to find it: it counts before it is committed.
        anyAsset.store(true, ordering: .releasing)
        return try await engine.write { transaction in
            try check(transaction)
            if var known = try Self.keepKnown(new, transaction) {
                // What came since the look at the file is another upload's, and whole.
                guard new.owner.rawValue < 0 || known.file == damaged?.file else { return known }
                try transaction.replaceFile(of: known, by: new.file)
                known.file = new.file
                return known
            }
            // Others may have been faster since the upload began.
            guard try Self.bytes(of: new.owner, transaction) + new.size <= limit else {
                throw ServiceError.assetQuotaExceeded(limit: limit)
            }
            try transaction.insert(new)
            return new
        }
    }

    /// The bytes of an owner's files; those of an account's database count with what it uploaded elsewhere and did not save.
    static func bytes(of owner: OwnerID, _ reader: StorageReader) throws -> Int64 {
        let bytes = try reader.assetBytes(owner: owner)
        guard owner.rawValue > 0 else { return bytes }
        return try bytes + reader.assetBytes(owner: .uploads(of: owner.rawValue))
    }

    /// Lets a database's files go that no record refers to and no receipt is for, the oldest first, before their time: they
    /// are not to keep its owner from saving.
    /// - Parameter bytes: how many are missing.
    func makeRoom(for bytes: Int64, in owner: OwnerID) async throws {
        // What was let go of now is kept until then, and what has a receipt for longer.
        let time = environment.now() + Limits.assetRetention + 1
        var missing = bytes
        for _ in 0..<Limits.collectionStepsForRoom where missing > 0 {
            let unneeded = try await engine.read(expecting: .long) {
                try $0.unneededAssets(owner: owner, neededBefore: time, limit: Limits.assetsPerCollectionStep)
            }
            let (chosen, enough) = Self.first(of: unneeded, with: missing)
            let freed = try await engine.write { transaction -> Int64 in
                var freed: Int64 = 0
                for row in chosen {
                    // A save may have come in between.
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

    /// - Returns: whether there may be more.
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

    /// Looks for files that are not needed any more, if that was not done for a while.
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

    /// The same, whenever it was done last.
    func collectNow() {
        nextCollection.withLock { $0 = .min }
        collectIfDue()
    }

    /// Returns once nothing is being collected.
    func settle() async { await collection.waitUntilIdle() }

    /// Ends collecting.
    func stop() async { await collection.close() }

    /// Deletes the files that were not needed any more before a time. First their rows go, in transactions that a save sees
    /// or that see it, so that no record refers to a file that is being deleted; what a crash leaves is deleted the next
    /// time.
    func collect(neededBefore time: Int64) async throws {
        let limit = Limits.assetsPerCollectionStep
        // Reading first costs no commit where there is nothing to do, which is nearly always.
        while try await engine.read({ try $0.hasAsset(neededBefore: time) }) {
            _ = try await engine.write { try $0.condemnAssets(neededBefore: time, limit: limit) }
        }
        while true {
            let condemned = try await engine.read { try $0.condemnedAssetFiles(limit: limit) }
            if condemned.isEmpty { return }
            let isRemoved = try await files.threads.run { [files] in
                // A backup that is being taken may need them: they stay condemned until the next time.
                guard let lock = try files.lockForRemoval() else { return false }
                for file in condemned { try files.remove(file) }
                return withExtendedLifetime(lock) { true }
            }
            guard isRemoved else { return }
            try await engine.write { for file in condemned { try $0.removeCondemnedAsset(file: file) } }
        }
    }

    /// What went wrong below the rules is logged, not sent.
    func translate(_ error: any Error) -> ServiceError {
        if let error = error as? ServiceError { return error }
        if error is CancellationError { return .unavailable }
        environment.log("assets: \(error)")
        return (error as? StorageError)?.code == .closed ? .unavailable : .diskFailure
    }

    func close() { files.close() }
}
