/// A field's value on the wire: one case per scalar type, and lists of one scalar type
/// (CloudKit Web Services, Record Field Dictionary).
package enum FieldValue: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case bytes([UInt8])
    case timestamp(Timestamp)
    // Wide cases are boxed, so that every other value, and every list, takes a fifth of the memory.
    indirect case location(LocationValue)
    indirect case reference(ReferenceValue)
    indirect case asset(AssetValue)
    /// A list whose elements all have the scalar type `of`; an empty list of unknown element type has `of: .unknown`.
    case list(of: FieldType.Scalar, [FieldValue])
    /// A value that a device encrypted: the type of its plaintext, and its ciphertext.
    indirect case sealed(SealedFieldValue)

    package var type: FieldType {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list(let scalar, _): .list(scalar)
        case .sealed(let value): value.type
        }
    }
}

/// Strings are compared by their bytes, as in stores.
extension FieldValue {
    package static func == (left: FieldValue, right: FieldValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.int64(let left), .int64(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.bytes(let left), .bytes(let right)): left == right
        case (.timestamp(let left), .timestamp(let right)): left == right
        case (.location(let left), .location(let right)): left == right
        case (.reference(let left), .reference(let right)): left == right
        case (.asset(let left), .asset(let right)): left == right
        case (.list(let leftType, let left), .list(let rightType, let right)): leftType == rightType && left == right
        case (.sealed(let left), .sealed(let right)): left == right
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        switch self {
        case .string(let value): value.hashBytes(into: &hasher)
        case .int64(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .bytes(let value): hasher.combine(value)
        case .timestamp(let value): hasher.combine(value)
        case .location(let value): hasher.combine(value)
        case .reference(let value): hasher.combine(value)
        case .asset(let value): hasher.combine(value)
        case .list(_, let elements): hasher.combine(elements)
        case .sealed(let value): hasher.combine(value)
        }
    }
}

/// The value of an encrypted field on the wire and in storage (Documentation/Encryption.md).
package struct SealedFieldValue: Hashable, Sendable {
    /// The type of the plaintext.
    package var type: FieldType
    package var bytes: [UInt8]

    package init(type: FieldType, bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
    }
}

/// A geographic position: coordinates in degrees, distances in metres, speeds in metres per second.
package struct LocationValue: Hashable, Sendable {
    package var latitude: Double
    package var longitude: Double
    package var horizontalAccuracy: Double?
    package var verticalAccuracy: Double?
    package var altitude: Double?
    package var speed: Double?
    package var course: Double?
    package var timestamp: Timestamp?

    package init(
        latitude: Double, longitude: Double, horizontalAccuracy: Double? = nil, verticalAccuracy: Double? = nil,
        altitude: Double? = nil, speed: Double? = nil, course: Double? = nil, timestamp: Timestamp? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.altitude = altitude
        self.speed = speed
        self.course = course
        self.timestamp = timestamp
    }
}

/// A reference to a record. A reference without a zone refers to a record in the zone of the referencing record.
package struct ReferenceValue: Hashable, Sendable {
    /// The effect of the target's deletion on the referencing record (CloudKit Web Services, Reference Dictionary).
    package enum Action: String, Hashable, Sendable {
        case none = "NONE"
        case deleteSelf = "DELETE_SELF"
        case validate = "VALIDATE"
    }

    package var recordName: String
    package var zoneID: ZoneIDDictionary?
    package var action: Action

    package init(recordName: String, zoneID: ZoneIDDictionary? = nil, action: Action = .none) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.action = action
    }
}

/// The description of an uploaded file (CloudKit Web Services, Asset Dictionary): `size` in bytes.
package struct AssetValue: Hashable, Sendable {
    package var fileChecksum: String
    package var size: Int64
    package var receipt: String?
    package var wrappingKey: String?
    package var referenceChecksum: String?
    package var downloadURL: String?
    /// The name of the file's content, `nephosContent` on the wire: in stored fields the service's key of the file, in
    /// an export the file's name. Requests cannot set it, and answers do not contain it.
    package var content: String?
    /// The key that seals the file, `nephosSeal` on the wire; nil if the file is not sealed.
    package var seal: AssetSeal?

    package init(
        fileChecksum: String, size: Int64, receipt: String? = nil, wrappingKey: String? = nil,
        referenceChecksum: String? = nil, downloadURL: String? = nil, content: String? = nil, seal: AssetSeal? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.receipt = receipt
        self.wrappingKey = wrappingKey
        self.referenceChecksum = referenceChecksum
        self.downloadURL = downloadURL
        self.content = content
        self.seal = seal
    }
}

/// The key of a sealed asset file (Documentation/Encryption.md).
package enum AssetSeal: Hashable, Sendable {
    /// The key in the clear, on the device that sealed the file. The device wraps the key before it sends the field, so
    /// this case is never written.
    case key([UInt8])
    /// The key, wrapped under the key of the file's record.
    case wrapped([UInt8])
}
