import NephosCrypto
import NephosWire
import Synchronization

extension DatabaseRequestContext {
    /// Whether the files of a record's assets are sealed (Documentation/Encryption.md). A participant's device that
    /// lacks the share's key saves files unsealed, because only the owner can hand over the key.
    func sealsAssets(of record: WaitingRecord) async -> Bool {
        guard session.service.sealsAssets, call.scope != .public else { return false }
        guard call.scope == .shared else { return true }
        let ring = session.keyRing
        let zone = KeyZone(record.recordID.zoneID, call.scope)
        let names = [record.recordID.recordName] + (record.parent.map { [$0] } ?? [])
        var group = await ring.group(of: names[0], parent: record.parent, in: zone)
        if group == nil {
            let asked: [String: Set<[UInt8]>] = Dictionary(names.map { ($0, []) }) { $1 }
            let known = try? await ring.keys(ofRecords: asked, in: zone).keys
            group = names.lazy.compactMap { known?[$0]?.last?.group }.first
        }
        let keys = try? await ring.keys(of: KeyRing.GroupName(zone: zone, group: group ?? ""), making: false)
        return keys?.1.currentKey != nil
    }
}

extension CKRecord {
    /// Whether the record has sealed content: the value of an encrypted field, or the key of an asset file.
    var hasSealedContent: Bool {
        state.withLock { state in
            state.fields.contains { field in
                field.value.isEncrypted || field.value.value.assets.contains { $0.wireValue?.seal != nil }
            }
        }
    }
}

/// The sealed assets of a record from the service.
struct SealedAssets {
    private var assets: [(key: CKRecord.FieldKey, asset: CKAsset, wrapped: [UInt8])] = []

    init(_ fields: FieldTable) {
        for field in fields {
            for asset in field.value.value.assets {
                guard case .wrapped(let wrapped) = asset.wireValue?.seal else { continue }
                assets.append((field.key, asset, wrapped))
            }
        }
    }

    var isEmpty: Bool { assets.isEmpty }

    /// The IDs of the record keys that unwrap the keys of the assets.
    var keyIDs: [[UInt8]] { assets.compactMap { RecordKey.id(ofBytes: $0.wrapped) } }

    /// Gives each asset the key of its file.
    /// - Parameter context: the `ZonePlace.valueContext` of the record; nil if no key was found.
    func open(with keys: [RecordKey], _ context: SealContext?) throws(SealedRecord.Failure) {
        for (field, asset, wrapped) in assets {
            guard let id = RecordKey.id(ofBytes: wrapped), let context else {
                throw SealedRecord.Failure(field: field, cause: "has not the form of a sealed asset")
            }
            guard let recordKey = keys.first(where: { $0.id == id }) else {
                throw SealedRecord.Failure(
                    field: field, cause: "was sealed with a key that the service does not have", lacksKey: true)
            }
            guard let key = recordKey.unwrap(wrapped, field: field, of: context) else {
                throw SealedRecord.Failure(field: field, cause: "was changed, or belongs elsewhere")
            }
            asset.noteKey(key)
        }
    }
}

extension RecordKey {
    /// Wraps the key of an asset file for its field: seals the key like the value of a field, with the type of an
    /// asset.
    /// - Parameters:
    ///   - record: the `ZonePlace.valueContext` of the record.
    ///   - nonce: the nonce of a test vector; nil to use a random one.
    func wrap(_ assetKey: SealKey, field: String, of record: SealContext, nonce: [UInt8]? = nil) -> [UInt8] {
        let context = context(record, field, .asset)
        let header = [Self.format] + id
        return nonce.map { key.seal(assetKey.bytes, context: context, header: header, nonce: $0) }
            ?? key.seal(assetKey.bytes, context: context, header: header)
    }

    /// Returns the key of an asset file; nil unless this key wrapped it for this field of this record.
    func unwrap(_ wrapped: [UInt8], field: String, of record: SealContext) -> SealKey? {
        guard Self.id(ofBytes: wrapped) == id else { return nil }
        return key.open(wrapped.dropFirst(1 + WrappedRecordKey.idSize), context: context(record, field, .asset))
            .flatMap(SealKey.init)
    }
}

extension RecordOperation {
    /// Whether the record has assets whose keys must be wrapped.
    var hasAssetKeys: Bool {
        record.fields.entries.contains { $0.field.value?.assets.contains(where: \.hasKey) ?? false }
    }

    mutating func wrapAssetKeys(with key: RecordKey?, _ context: SealContext?) {
        for entry in record.fields.entries {
            guard let value = entry.field.value, value.assets.contains(where: \.hasKey) else { continue }
            let wrapped = value.mappingAssets { asset in
                guard case .key(let bytes) = asset.seal else { return asset }
                var asset = asset
                asset.seal = nil
                if let key, let context, let assetKey = SealKey(bytes) {
                    asset.seal = .wrapped(key.wrap(assetKey, field: entry.name, of: context))
                }
                return asset
            }
            record.fields[entry.name] = Field(
                wrapped, hasDeclaredType: entry.field.hasDeclaredType, isEncrypted: entry.field.isEncrypted)
        }
    }
}

extension AssetValue {
    fileprivate var hasKey: Bool { if case .key = seal { true } else { false } }
}
