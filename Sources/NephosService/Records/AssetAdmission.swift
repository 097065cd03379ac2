import NephosCrypto
import NephosStorage
import NephosWire

/// Resolves the assets of a save to files:
///
/// - an asset with a receipt resolves to the uploaded file, if the receipt was given to this account for this field of
///   this record; using the receipt again is a retry; a sealed file has its wrapped key with it;
/// - an asset without a receipt must equal a stored value of the same field, and leaves that value's file unchanged;
/// - any other asset is refused: a client's description of a file does not prove that the client may have the file.
struct AssetAdmission {
    let access: AssetAddresses
    let zone: ZoneKey
    let scope: DatabaseScope
    let reader: StorageReader

    /// The fields with their assets in stored form, whether there are any assets, and the unsaved uploads that the save
    /// moves into the database.
    func admit(
        _ fields: RecordFields, of recordName: String, stored: RecordRow?
    ) throws -> (fields: RecordFields, hasAssets: Bool, uploads: [AssetRow]) {
        var result = fields
        var hasAssets = false
        var uploads: [AssetRow] = []
        lazy var known = stored.map(Self.assetsByField) ?? [:]
        for entry in fields.entries {
            guard let value = entry.field.value, !value.assets.isEmpty else { continue }
            hasAssets = true
            let target = AssetTarget(
                zone: zone, account: access.account, recordName: recordName, fieldName: entry.name)
            let knownInField = known[entry.name] ?? []
            let admitted = try value.mappingAssets { try admit($0, target, knownInField, &uploads) }
            result[entry.name] = Field(
                admitted, hasDeclaredType: entry.field.hasDeclaredType, isEncrypted: entry.field.isEncrypted)
        }
        return (result, hasAssets, uploads)
    }

    /// Throws if a record as it would be stored, with the fields that the save keeps, has too many assets.
    /// - Throws: `limitExceeded`.
    static func checkCount(_ row: RecordRow) throws(ServiceError) {
        let count = EncodedFields(bytes: row.fields).assets().count
        guard count > Limits.assetsPerRecord else { return }
        throw .limitExceeded(
            "record '\(row.name)' holds \(count) assets; at most \(Limits.assetsPerRecord) are allowed")
    }

    private static func assetsByField(of row: RecordRow) -> [String: [AssetValue]] {
        Dictionary(grouping: EncodedFields(bytes: row.fields).assets(), by: \.name).mapValues { $0.map(\.value) }
    }

    private func admit(
        _ sent: AssetValue, _ target: AssetTarget, _ known: [AssetValue], _ uploads: inout [AssetRow]
    ) throws -> AssetValue {
        if let text = sent.receipt, let receipt = access.tokens.receipt(text), receipt.target.includes(target),
            AssetTokens.isGood(until: receipt.expires, lifetime: Limits.receiptLifetime, now: access.now),
            let asset = try file(of: receipt)
        {
            guard asset.size == sent.size, asset.checksum == sent.fileChecksum else {
                throw refusal(target, "its receipt is for another file: send back what the upload answered, unchanged")
            }
            if asset.owner != zone.owner, !uploads.contains(asset) { uploads.append(asset) }
            return AssetValue(
                fileChecksum: asset.checksum, size: asset.size, content: AssetContent.name(asset.hash),
                seal: try checkedSeal(of: sent, target))
        }
        if let same = known.first(where: { $0.fileChecksum == sent.fileChecksum && $0.size == sent.size }) {
            return same
        }
        guard let text = sent.receipt else {
            var error = refusal(
                target, "it has no receipt: upload its file (assets/upload), or ask for a receipt (assets/rereference)")
            error.needsFile = true
            throw error
        }
        guard let receipt = access.tokens.receipt(text), receipt.target.includes(target) else {
            throw refusal(
                target,
                "its receipt is not one of this field of this record: a receipt is good for what it was given for")
        }
        throw refusal(target, "its receipt has expired: upload the file again")
    }

    /// The file of a receipt, which is an unsaved upload of the account or a file of the database; nil if it no longer
    /// exists.
    private func file(of receipt: AssetTokens.Receipt) throws -> AssetRow? {
        // A receipt for any field belongs to a file of the database.
        guard UnsavedUpload.isOne(for: receipt.target), !receipt.target.isAnyField else {
            return try reader.asset(owner: zone.owner, content: receipt.content)
        }
        guard let upload = try UnsavedUpload.row(receipt.content, for: receipt.target, reader),
            upload.neededUntil >= access.now
        else { return nil }
        return upload
    }

    private func checkedSeal(of sent: AssetValue, _ target: AssetTarget) throws(ServiceError) -> AssetSeal? {
        guard let seal = sent.seal else { return nil }
        guard scope != .public else { throw .sealedInPublic(field: target.fieldName) }
        guard case .wrapped(let bytes) = seal, bytes.count == Limits.wrappedAssetKeySize,
            bytes[0] == EncryptionAdmission.format, ContentSeal.size(ofSealed: sent.size) != nil
        else { throw refusal(target, "nephosSeal has not the form of a wrapped key") }
        return seal
    }

    private func refusal(_ target: AssetTarget, _ reason: String) -> ServiceError {
        .invalid("the asset in field '\(target.fieldName)' of record '\(target.recordName)' cannot be saved: \(reason)")
    }
}

extension ServiceError {
    static func sealedInPublic(field: String) -> ServiceError {
        .invalid("field '\(field)': files of the public database are not sealed, as everybody may read them")
    }
}
