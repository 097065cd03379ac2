import NephosStorage
import NephosWire

/// `assets/rereference`: returns receipts for stored files, so that clients need not upload them again.
///
/// The request does not name the destination field, so such a receipt is valid for any field of the target zone.
struct RereferenceAssets {
    let request: RereferenceRequest
    let caller: Caller

    func validate() throws(ServiceError) {
        guard !request.assets.isEmpty else { throw .invalid("assets must not be empty") }
        if request.assets.count > Limits.uploadTokensPerRequest {
            throw .limitExceeded(
                "number of assets exceeds the limit of \(Limits.uploadTokensPerRequest): \(request.assets.count)")
        }
    }

    func run(
        _ permissions: RecordPermissions, _ transaction: StorageTransaction
    ) throws -> RereferenceResponse {
        let source = try zone(request.zoneID, transaction)
        let target = try request.targetZoneID.map { try zone($0, transaction) } ?? source
        return RereferenceResponse(
            assets: try request.assets.flatMap { field -> [RereferenceResponse.Result] in
                do {
                    return try values(field, from: source, to: target, permissions, transaction).map { .asset($0) }
                } catch let error as ServiceError {
                    var dictionary = error.dictionary(requestID: caller.requestID)
                    dictionary.recordName = field.recordName
                    return [.failure(dictionary)]
                }
            })
    }

    private func zone(_ zoneID: ZoneIDDictionary?, _ reader: StorageReader) throws -> FoundZone {
        let address = caller.address(zoneID)
        guard let zone = try ZoneRegistry.find(address, caller, reader) else {
            throw try ZoneRegistry.notFound(address, caller, .toSave, reader)
        }
        return zone
    }

    /// The values with receipts, one for each asset of the field.
    private func values(
        _ field: AssetField, from source: FoundZone, to zone: FoundZone, _ permissions: RecordPermissions,
        _ transaction: StorageTransaction
    ) throws -> [AssetValue] {
        let assets = try AssetRules.assets(of: field, in: source, permissions, transaction)
        guard !assets.isEmpty else { throw ServiceError.noAsset(field.fieldName) }
        guard source.key.owner == zone.key.owner else {
            throw ServiceError.invalid("an asset cannot be used again in another database: upload its file")
        }
        let target = AssetTarget.anyField(in: zone.key, account: caller.assets.account)
        guard assets.allSatisfy({ $0.seal == nil }) else {
            throw ServiceError.invalid(
                "the file of field '\(Identifier.excerpt(field.fieldName))' is sealed for its field: upload it again")
        }
        return try assets.map { value in
            guard let content = value.content.flatMap(AssetContent.content),
                let asset = try transaction.asset(owner: source.key.owner, content: content)
            else { throw ServiceError.noAsset(field.fieldName) }
            // The file is retained as long as the receipt is valid, even if the file's record is deleted.
            try transaction.keepAsset(
                owner: asset.owner, content: content,
                until: caller.assets.now + Limits.receiptLifetime + Limits.assetRetention)
            return caller.assets.receipt(asset, for: target, isPrivate: caller.scope != .public)
        }
    }
}

extension ServiceError {
    fileprivate static func noAsset(_ field: String) -> ServiceError {
        ServiceError(.notFound, .unknownItem, "field '\(Identifier.excerpt(field))' holds no asset")
    }
}
