extension StorageReader {
    // MARK: Assets

    /// The row of the file with that content; nil if there is none, or if it was condemned.
    package final func asset(owner: OwnerID, content: [UInt8]) throws -> AssetRow? {
        try row(.asset, bind: { try $0.bind(owner: owner.rawValue).bind(content) }, read: { AssetRow($0) })
    }

    /// The files of all owners with names after `file` (byte-wise), ordered by name: at most `limit`.
    package final func assets(afterFile file: String, limit: Int) throws -> [AssetRow] {
        try rows(.assetsByFile, bind: { try $0.bind(file).bind(limit: limit) }, read: { AssetRow($0) })
    }

    /// Whether the store has an asset row for a file with that name.
    package final func hasAssetFile(named name: String) throws -> Bool {
        try row(.assetFile, bind: { try $0.bind(name) }, read: { _ in true }) ?? false
    }

    /// Whether the store has an asset row for any file.
    package final func hasAssets() throws -> Bool {
        try row(.anyAsset, bind: { _ in }, read: { _ in true }) ?? false
    }

    /// The total size of an owner's files in bytes.
    package final func assetBytes(owner: OwnerID) throws -> Int64 {
        try row(.assetBytes, bind: { try $0.bind(owner: owner.rawValue) }, read: { $0.integer(0) }) ?? 0
    }

    /// The sum of the sizes in the rows of an owner's files, which `assetBytes(owner:)` should be. Reads all of them.
    package final func assetBytesOfFiles(owner: OwnerID) throws -> Int64 {
        try row(.assetBytesOfFiles, bind: { try $0.bind(owner: owner.rawValue) }, read: { $0.integer(0) }) ?? 0
    }

    /// The files of an owner that are not needed at `time`, ordered so that the longest unneeded file is first: at most
    /// `limit`.
    package final func unneededAssets(owner: OwnerID, neededBefore time: Int64, limit: Int) throws -> [AssetRow] {
        try rows(
            .unneededAssets, bind: { try $0.bind(owner: owner.rawValue).bind(time).bind(limit: limit) },
            read: { AssetRow($0) })
    }

    /// The number of an owner's files, counted up to `limit`.
    package final func assetCount(owner: OwnerID, limit: Int) throws -> Int {
        try rows(.firstAssets, bind: { try $0.bind(owner: owner.rawValue).bind(limit: limit) }, read: { _ in () }).count
    }

    /// Whether the record refers to the file with this content.
    package final func hasAssetReference(_ content: [UInt8], zone: ZoneKey, record: String) throws -> Bool {
        try row(.assetReference, bind: { try $0.bind(zone).bind(record).bind(content) }, read: { _ in true }) ?? false
    }

    /// Whether `condemnAssets` has files to condemn.
    package final func hasAsset(neededBefore time: Int64) throws -> Bool {
        try row(.anyExpiredAsset, bind: { try $0.bind(time) }, read: { _ in true }) ?? false
    }

    /// The names of condemned files that may not be deleted yet: at most `limit`.
    package final func condemnedAssetFiles(limit: Int) throws -> [String] {
        try rows(.condemnedAssets, bind: { try $0.bind(limit: limit) }, read: { $0.text(0) })
    }
}

extension StorageTransaction {
    /// Adds the row of a file.
    /// - Throws: `StorageError` `.constraint` if the owner already has a file with that content.
    package func insert(_ asset: AssetRow) throws {
        try change(.insertAsset) {
            try $0.bind(owner: asset.owner.rawValue).bind(asset.content).bind(asset.size).bind(asset.checksum)
                .bind(asset.file).bind(asset.neededUntil)
        }
        try change(.addAssetBytes) { try $0.bind(owner: asset.owner.rawValue).bind(asset.size) }
    }

    /// Extends the retention of a file at least until `time` (in milliseconds since 1970).
    package func keepAsset(owner: OwnerID, content: [UInt8], until time: Int64) throws {
        try change(.keepAsset) { try $0.bind(time).bind(owner: owner.rawValue).bind(content) }
    }

    /// Replaces the file of a content. The former file is condemned.
    package func replaceFile(of asset: AssetRow, by file: String) throws {
        try change(.condemnAsset) { try $0.bind(asset.file) }
        try change(.replaceAssetFile) { try $0.bind(file).bind(owner: asset.owner.rawValue).bind(asset.content) }
    }

    /// Moves a file, with its size, to another owner. If that owner already has the content, the moved file replaces
    /// the owner's file, which is condemned. Otherwise the file is kept until `time`.
    package func move(_ asset: AssetRow, to owner: OwnerID, content: [UInt8], neededUntil time: Int64) throws {
        if let known = try self.asset(owner: owner, content: content) {
            try change(.removeAsset) { try $0.bind(owner: asset.owner.rawValue).bind(asset.content) }
            try replaceFile(of: known, by: asset.file)
        } else {
            try change(.moveAsset) {
                try $0.bind(owner: owner.rawValue).bind(content).bind(time).bind(owner: asset.owner.rawValue).bind(
                    asset.content)
            }
            try change(.addAssetBytes) { try $0.bind(owner: owner.rawValue).bind(asset.size) }
        }
        try change(.addAssetBytes) { try $0.bind(owner: asset.owner.rawValue).bind(-asset.size) }
    }

    /// Expires the files of an owner whose content is in a range (byte-wise).
    package func expireAssets(owner: OwnerID, contentFrom start: [UInt8], to end: [UInt8]) throws {
        try change(.expireAssets) { try $0.bind(owner: owner.rawValue).bind(start).bind(end) }
    }

    /// Condemns a file: readers no longer find it, and `condemnedAssetFiles` lists it for deletion.
    package func condemn(_ asset: AssetRow) throws {
        try change(.condemnAsset) { try $0.bind(asset.file) }
        try change(.removeAsset) { try $0.bind(owner: asset.owner.rawValue).bind(asset.content) }
        try change(.addAssetBytes) { try $0.bind(owner: asset.owner.rawValue).bind(-asset.size) }
    }

    /// Adds a record's reference to a file, which retains the file. Idempotent.
    package func insertAssetReference(_ content: [UInt8], zone: ZoneKey, record: String) throws {
        try change(.insertAssetReference) { try $0.bind(zone).bind(record).bind(content) }
        try change(.keepAsset) { try $0.bind(AssetRow.referenced).bind(owner: zone.owner.rawValue).bind(content) }
    }

    /// Removes a record's reference to a file. After the last reference is removed, the file is kept until `time`.
    package func removeAssetReference(
        _ content: [UInt8], zone: ZoneKey, record: String, neededUntil time: Int64
    ) throws {
        try change(.removeAssetReference) { try $0.bind(zone).bind(record).bind(content) }
        try change(.releaseAsset) { try $0.bind(time).bind(owner: zone.owner.rawValue).bind(content) }
    }

    /// Removes up to `limit` references from a zone's records to files, each as `removeAssetReference` does.
    /// - Returns: the number of removed references.
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

    /// Condemns up to `limit` files that have not been needed since before `time`: readers no longer find them, and
    /// `condemnedAssetFiles` lists them.
    /// - Returns: the number of condemned files.
    package func condemnAssets(neededBefore time: Int64, limit: Int) throws -> Int {
        let expired = try rows(.expiredAssets, bind: { try $0.bind(time).bind(limit: limit) }, read: { AssetRow($0) })
        let own = ofOneOwner(expired) { ZoneKey(owner: $0.owner, id: 0) }
        for asset in own { try condemn(asset) }
        return own.count
    }

    /// Records that a condemned file was deleted.
    package func removeCondemnedAsset(file: String) throws {
        try change(.removeCondemnedAsset) { try $0.bind(file) }
    }
}

extension AssetRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            owner: OwnerID(rawValue: row.owner(0)), content: row.bytes(1), size: row.integer(2),
            checksum: row.text(3), file: row.text(4), neededUntil: row.integer(5))
    }
}
