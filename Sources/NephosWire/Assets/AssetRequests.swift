/// A field whose file is to be uploaded or reused (CloudKit Web Services, Asset Field Dictionary).
package struct AssetField: Hashable, Sendable {
    /// Nil for a new record: the service generates its name.
    package var recordName: String?
    /// Required for uploads only.
    package var recordType: String?
    package var fieldName: String
    /// Whether the file is sealed, and so longer than its plaintext.
    package var isSealed: Bool

    package init(recordName: String?, recordType: String? = nil, fieldName: String, isSealed: Bool = false) {
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
        self.isSealed = isSealed
    }
}

/// `assets/upload`: requests the upload URLs of files, one for each token.
package struct AssetUploadRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    package var tokens: [AssetField]

    package init(zoneID: ZoneIDDictionary? = nil, tokens: [AssetField]) {
        self.zoneID = zoneID
        self.tokens = tokens
    }
}

/// The answer of `assets/upload`, in the order of the request.
package struct AssetUploadResponse: Hashable, Sendable {
    package struct Token: Hashable, Sendable {
        package var recordName: String
        package var fieldName: String
        /// The URL to which the file's bytes are sent by POST. It carries its own authorisation.
        package var url: String

        package init(recordName: String, fieldName: String, url: String) {
            self.recordName = recordName
            self.fieldName = fieldName
            self.url = url
        }
    }

    package var tokens: [Token]

    package init(tokens: [Token]) { self.tokens = tokens }
}

/// The answer to the upload of a file: the value of its field in `records/modify`.
package struct UploadedFile: Hashable, Sendable {
    package var singleFile: AssetValue

    package init(singleFile: AssetValue) { self.singleFile = singleFile }
}

/// `assets/rereference`: requests values with which files of existing fields can be saved elsewhere.
package struct RereferenceRequest: Hashable, Sendable {
    /// The zone of the fields.
    package var zoneID: ZoneIDDictionary?
    /// The zone in which the values will be saved; nil for the fields' zone.
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

/// The answer of `assets/rereference`, in the order of the request.
package struct RereferenceResponse: Hashable, Sendable {
    package enum Result: Hashable, Sendable {
        case asset(AssetValue)
        case failure(ErrorDictionary)
    }

    package var assets: [Result]

    package init(assets: [Result]) { self.assets = assets }
}
