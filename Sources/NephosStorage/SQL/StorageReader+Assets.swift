extension StorageReader {
    // MARK: Assets

    /// The file of that content, unless it does not exist or was condemned.
    package final func asset(owner: OwnerID, content: [UInt8]) throws -> AssetRow? {
        try row(.asset, bind: { try $0.bind(owner.rawValue).bind(content) }, read: { AssetRow($0) })
    }

    /// All owners' files with names after `file` (byte-wise), ordered by name.
    package final func assets(afterFile file: String, limit: Int) throws -> [AssetRow] {
        try rows(.assetsByFile, bind: { try $0.bind(file).bind(limit: limit) }, read: { AssetRow($0) })
    }

    /// Whether there is a file of that name.
    package final func hasAssetFile(named name: String) throws -> Bool {
        try row(.assetFile, bind: { try $0.bind(name) }, read: { _ in true }) ?? false
    }

    /// Whether the store has any file.
    package final func hasAssets() throws -> Bool {
        try row(.anyAsset, bind: { _ in }, read: { _ in true }) ?? false
    }

    /// The total bytes of an owner's files.
    package final func assetBytes(owner: OwnerID) throws -> Int64 {
        try row(.assetBytes, bind: { try $0.bind(owner.rawValue) }, read: { $0.integer(0) }) ?? 0
    }

    /// An owner's files that are not needed at `time`, the longest unneeded first.
    package final func unneededAssets(owner: OwnerID, neededBefore time: Int64, limit: Int) throws -> [AssetRow] {
        try rows(
            .unneededAssets, bind: { try $0.bind(owner.rawValue).bind(time).bind(limit: limit) },
            read: { AssetRow($0) })
    }

    /// The number of an owner's files, at most `limit`.
    package final func assetCount(owner: OwnerID, limit: Int) throws -> Int {
        try rows(.firstAssets, bind: { try $0.bind(owner.rawValue).bind(limit: limit) }, read: { _ in () }).count
    }

    /// Whether a record refers to a file.
    package final func hasAssetReference(_ content: [UInt8], zone: ZoneKey, record: String) throws -> Bool {
        try row(.assetReference, bind: { try $0.bind(zone).bind(record).bind(content) }, read: { _ in true }) ?? false
    }

    /// Whether `condemnAssets` has something to condemn.
    package final func hasAsset(neededBefore time: Int64) throws -> Bool {
        try row(.anyExpiredAsset, bind: { try $0.bind(time) }, read: { _ in true }) ?? false
    }

    /// The names of condemned files that may still have to be deleted.
    package final func condemnedAssetFiles(limit: Int) throws -> [String] {
        try rows(.condemnedAssets, bind: { try $0.bind(limit: limit) }, read: { $0.text(0) })
    }
}

extension StorageTransaction {
    /// Adds a file.
    /// - Throws: `StorageError` `.constraint` if the owner has a file of that content.
    package func insert(_ asset: AssetRow) throws {
        try change(.insertAsset) {
            try $0.bind(asset.owner.rawValue).bind(asset.content).bind(asset.size).bind(asset.checksum)
                .bind(asset.file).bind(asset.neededUntil)
        }
        try change(.addAssetBytes) { try $0.bind(asset.owner.rawValue).bind(asset.size) }
    }

    /// Keeps a file at least until `time` (milliseconds since 1970).
    package func keepAsset(owner: OwnerID, content: [UInt8], until time: Int64) throws {
        try change(.keepAsset) { try $0.bind(time).bind(owner.rawValue).bind(content) }
    }

    /// Replaces a content's file; the former file is condemned.
    package func replaceFile(of asset: AssetRow, by file: String) throws {
        try change(.condemnAsset) { try $0.bind(asset.file) }
        try change(.replaceAssetFile) { try $0.bind(file).bind(asset.owner.rawValue).bind(asset.content) }
    }

    /// Moves a file to another owner, with its bytes. If that owner has the content, the file replaces its own, which
    /// is condemned; otherwise it is kept until `time`.
    package func move(_ asset: AssetRow, to owner: OwnerID, content: [UInt8], neededUntil time: Int64) throws {
        if let known = try self.asset(owner: owner, content: content) {
            try change(.removeAsset) { try $0.bind(asset.owner.rawValue).bind(asset.content) }
            try replaceFile(of: known, by: asset.file)
        } else {
            try change(.moveAsset) {
                try $0.bind(owner.rawValue).bind(content).bind(time).bind(asset.owner.rawValue).bind(asset.content)
            }
            try change(.addAssetBytes) { try $0.bind(owner.rawValue).bind(asset.size) }
        }
        try change(.addAssetBytes) { try $0.bind(asset.owner.rawValue).bind(-asset.size) }
    }

    /// Expires an owner's files whose content is in a range, byte-wise.
    package func expireAssets(owner: OwnerID, contentFrom start: [UInt8], to end: [UInt8]) throws {
        try change(.expireAssets) { try $0.bind(owner.rawValue).bind(start).bind(end) }
    }

    /// Condemns a file: readers no longer find it, and `condemnedAssetFiles` lists it.
    package func condemn(_ asset: AssetRow) throws {
        try change(.condemnAsset) { try $0.bind(asset.file) }
        try change(.removeAsset) { try $0.bind(asset.owner.rawValue).bind(asset.content) }
        try change(.addAssetBytes) { try $0.bind(asset.owner.rawValue).bind(-asset.size) }
    }

    /// Adds a record's reference to a file, which keeps the file. Idempotent.
    package func insertAssetReference(_ content: [UInt8], zone: ZoneKey, record: String) throws {
        try change(.insertAssetReference) { try $0.bind(zone).bind(record).bind(content) }
        try change(.keepAsset) { try $0.bind(AssetRow.referenced).bind(zone.owner.rawValue).bind(content) }
    }

    /// Removes a record's reference to a file. After the last one the file is kept until `time`.
    package func removeAssetReference(
        _ content: [UInt8], zone: ZoneKey, record: String, neededUntil time: Int64
    ) throws {
        try change(.removeAssetReference) { try $0.bind(zone).bind(record).bind(content) }
        try change(.releaseAsset) { try $0.bind(time).bind(zone.owner.rawValue).bind(content) }
    }

    /// Removes up to `limit` file references of a zone's records, as `removeAssetReference`; returns the number
    /// removed.
    package func purgeAssetReferences(zone: ZoneKey, limit: Int, neededUntil time: Int64) throws -> Int {
        let references = try rows(.assetReferencesOfZone) {
            try $0.bind(zone).bind(limit: limit)
        } read: {
            (record: $0.text(0), content: $0.bytes(1))
        }
        for reference in references {
            try removeAssetReference(reference.content, zone: zone, record: reference.record, neededUntil: time)
        }
        return references.count
    }

    /// Condemns up to `limit` files not needed since before `time`: readers no longer find them, and
    /// `condemnedAssetFiles` lists them. Returns the number of condemned files.
    package func condemnAssets(neededBefore time: Int64, limit: Int) throws -> Int {
        let expired = try rows(.expiredAssets, bind: { try $0.bind(time).bind(limit: limit) }, read: { AssetRow($0) })
        for asset in expired { try condemn(asset) }
        return expired.count
    }

    /// Notes that a condemned file was deleted.
    package func removeCondemnedAsset(file: String) throws {
        try change(.removeCondemnedAsset) { try $0.bind(file) }
    }
}

extension AssetRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            owner: OwnerID(rawValue: row.integer(0)), content: row.bytes(1), size: row.integer(2),
            checksum: row.text(3), file: row.text(4), neededUntil: row.integer(5))
    }
}
