extension StorageReader {
    // MARK: Assets

    /// The file of that content, unless there is none or it was condemned.
    package final func asset(owner: OwnerID, content: [UInt8]) throws -> AssetRow? {
        try row(.asset, bind: { try $0.bind(owner.rawValue).bind(content) }, read: { AssetRow($0) })
    }

    /// Every owner's files whose names are behind `file` (byte-wise), ordered by name.
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

    /// The bytes of an owner's files.
    package final func assetBytes(owner: OwnerID) throws -> Int64 {
        try row(.assetBytes, bind: { try $0.bind(owner.rawValue) }, read: { $0.integer(0) }) ?? 0
    }

    /// An owner's files that are not needed any more at `time`, the longest unneeded first.
    package final func unneededAssets(owner: OwnerID, neededBefore time: Int64, limit: Int) throws -> [AssetRow] {
        try rows(
            .unneededAssets, bind: { try $0.bind(owner.rawValue).bind(time).bind(limit: limit) },
            read: { AssetRow($0) })
    }

    /// How many files an owner has, as far as `limit`.
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

    /// The names of files that were condemned and may not be deleted yet.
    package final func condemnedAssetFiles(limit: Int) throws -> [String] {
        try rows(.condemnedAssets, bind: { try $0.bind(limit: limit) }, read: { $0.text(0) })
    }
}

extension StorageTransaction {
    /// Adds a file.
    /// - Throws: `StorageError` `.constraint` if the owner has one of that content.
    package func insert(_ asset: AssetRow) throws {
        try change(.insertAsset) {
            try $0.bind(asset.owner.rawValue).bind(asset.content).bind(asset.size).bind(asset.checksum)
                .bind(asset.file).bind(asset.neededUntil)
        }
        try change(.addAssetBytes) { try $0.bind(asset.owner.rawValue).bind(asset.size) }
    }

    /// Keeps a file at least until `time`, milliseconds since 1970.
    package func keepAsset(owner: OwnerID, content: [UInt8], until time: Int64) throws {
        try change(.keepAsset) { try $0.bind(time).bind(owner.rawValue).bind(content) }
    }

    /// Gives a content another file; the former one is condemned.
    package func replaceFile(of asset: AssetRow, by file: String) throws {
        try change(.condemnAsset) { try $0.bind(asset.file) }
        try change(.replaceAssetFile) { try $0.bind(file).bind(asset.owner.rawValue).bind(asset.content) }
    }

    /// Makes a file another owner's, with its bytes. Where that has the content, the file takes the place of its own, which is
    /// condemned; otherwise it stays until `time`.
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

    /// Ends the need for an owner's files whose content is in a range, byte-wise.
    package func expireAssets(owner: OwnerID, contentFrom start: [UInt8], to end: [UInt8]) throws {
        try change(.expireAssets) { try $0.bind(owner.rawValue).bind(start).bind(end) }
    }

    /// Condemns a file: it is gone for every reader, and its name is among `condemnedAssetFiles`.
    package func condemn(_ asset: AssetRow) throws {
        try change(.condemnAsset) { try $0.bind(asset.file) }
        try change(.removeAsset) { try $0.bind(asset.owner.rawValue).bind(asset.content) }
        try change(.addAssetBytes) { try $0.bind(asset.owner.rawValue).bind(-asset.size) }
    }

    /// Notes that a record refers to a file, which then stays; noting it twice changes nothing.
    package func insertAssetReference(_ content: [UInt8], zone: ZoneKey, record: String) throws {
        try change(.insertAssetReference) { try $0.bind(zone).bind(record).bind(content) }
        try change(.keepAsset) { try $0.bind(AssetRow.referenced).bind(zone.owner.rawValue).bind(content) }
    }

    /// Notes that a record does not refer to a file any more. If it was the last one, the file stays until `time`.
    package func removeAssetReference(
        _ content: [UInt8], zone: ZoneKey, record: String, neededUntil time: Int64
    ) throws {
        try change(.removeAssetReference) { try $0.bind(zone).bind(record).bind(content) }
        try change(.releaseAsset) { try $0.bind(time).bind(zone.owner.rawValue).bind(content) }
    }

    /// Removes up to `limit` of what records of a zone refer to, as `removeAssetReference`; returns how many it removed.
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

    /// Condemns up to `limit` files that are not needed since before `time`: they are gone for every reader, and their names
    /// are among `condemnedAssetFiles`. Returns how many it condemned.
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
