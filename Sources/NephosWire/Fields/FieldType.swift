/// The type of a field, in the names of the wire and the schema (CloudKit Web Services, Record Field Dictionary).
package struct FieldType: Hashable, Sendable {
    package enum Scalar: UInt8, Hashable, Sendable, CaseIterable {
        case string, int64, double, bytes, timestamp, location, reference, asset
        /// The element type of a list that was empty when it was first saved: `UNKNOWN_LIST`.
        case unknown
    }

    package var scalar: Scalar
    package var isList: Bool

    package init(_ scalar: Scalar, isList: Bool = false) {
        self.scalar = scalar
        self.isList = isList
    }

    package static let string = FieldType(.string)
    package static let int64 = FieldType(.int64)
    package static let double = FieldType(.double)
    package static let bytes = FieldType(.bytes)
    package static let timestamp = FieldType(.timestamp)
    package static let location = FieldType(.location)
    package static let reference = FieldType(.reference)
    package static let asset = FieldType(.asset)
    package static let unknownList = FieldType(.unknown, isList: true)

    package static func list(_ scalar: Scalar) -> FieldType { FieldType(scalar, isList: true) }

    /// The type's name in responses: `STRING`, `ASSETID`, `INT64_LIST`, `UNKNOWN_LIST`, ….
    package var wireName: String {
        let name =
            switch scalar {
            case .string: "STRING"
            case .int64: "INT64"
            case .double: "DOUBLE"
            case .bytes: "BYTES"
            case .timestamp: "TIMESTAMP"
            case .location: "LOCATION"
            case .reference: "REFERENCE"
            case .asset: "ASSETID"
            case .unknown: "UNKNOWN"
            }
        return isList ? name + "_LIST" : name
    }
}
