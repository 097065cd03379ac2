/// A field whose file the client uploads or reuses (CloudKit Web Services, Asset Field Dictionary).
package struct AssetField: Hashable, Sendable {
    /// The record's name; nil for a new record, for which the service generates a name.
    package var recordName: String?
    /// The record's type. Only uploads require it.
    package var recordType: String?
    package var fieldName: String
    /// Whether the file is sealed, and therefore longer than its plaintext.
    package var isSealed: Bool

    package init(recordName: String?, recordType: String? = nil, fieldName: String, isSealed: Bool = false) {
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
        self.isSealed = isSealed
    }
}

/// The request of `assets/upload`: requests one upload URL for each file.
package struct AssetUploadRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    package var tokens: [AssetField]

    package init(zoneID: ZoneIDDictionary? = nil, tokens: [AssetField]) {
        self.zoneID = zoneID
        self.tokens = tokens
    }
}

/// The answer of `assets/upload`: one result per file, in the request's order.
package struct AssetUploadResponse: Hashable, Sendable {
    package struct Token: Hashable, Sendable {
        package var recordName: String
        package var fieldName: String
        /// The URL to which the client sends the file's bytes by POST. The URL contains its own authorisation.
        package var url: String

        package init(recordName: String, fieldName: String, url: String) {
            self.recordName = recordName
            self.fieldName = fieldName
            self.url = url
        }
    }

    package enum Result: Hashable, Sendable {
        case token(Token)
        case failure(ErrorDictionary)
    }

    package var tokens: [Result]

    package init(tokens: [Result]) { self.tokens = tokens }
}

/// The answer to the upload of a file: the value of its field in `records/modify`.
package struct UploadedFile: Hashable, Sendable {
    package var singleFile: AssetValue

    package init(singleFile: AssetValue) { self.singleFile = singleFile }
}

/// The request of `assets/rereference`: requests values with which files of existing fields can be saved in other
/// records.
package struct RereferenceRequest: Hashable, Sendable {
    /// The zone of the fields' records.
    package var zoneID: ZoneIDDictionary?
    /// The zone in which the client will save the values; nil for `zoneID`.
    package var targetZoneID: ZoneIDDictionary?
    package var assets: [AssetField]

    package init(
        zoneID: ZoneIDDictionary? = nil, targetZoneID: ZoneIDDictionary? = nil, assets: [AssetField]
    ) {
        self.zoneID = zoneID
        self.targetZoneID = targetZoneID
        self.assets = assets
    }
}

/// The answer of `assets/rereference`: one result per field, in the request's order.
package struct RereferenceResponse: Hashable, Sendable {
    package enum Result: Hashable, Sendable {
        case asset(AssetValue)
        case failure(ErrorDictionary)
    }

    package var assets: [Result]

    package init(assets: [Result]) { self.assets = assets }
}
