import Foundation
package import NephosWire

/// The context for converting one record's names and values between this library's form and the wire's.
struct WireContext {
    /// The record's zone, which references into the same zone omit.
    var zoneID: CKRecordZone.ID
    /// The record name of the signed-in user, whom this library calls `__defaultOwner__`; nil if unknown.
    var currentUserRecordName: String?
}

/// A cache of the user IDs that recur in an answer's records. It creates each ID once.
final class WireUsers {
    let currentUserRecordName: String?
    /// The common prefix of all shares' URLs.
    private let shareURLRoot: String
    private var known: [(recordName: String, id: CKRecord.ID)] = []
    /// The maximum number of entries: with more, a lookup would cost as much as the creation of an ID.
    private static let limit = 8

    init(currentUserRecordName: String?, shareURLRoot: String = "") {
        self.currentUserRecordName = currentUserRecordName
        self.shareURLRoot = shareURLRoot
    }

    /// Returns the URL by which participants join a share; nil if it is no valid URL.
    func shareURL(_ shortGUID: String) -> URL? { URL(string: shareURLRoot + shortGUID) }

    func id(_ recordName: String) -> CKRecord.ID {
        for user in known where user.recordName == recordName { return user.id }
        let id = CKRecord.ID(userRecordName: recordName, currentUserRecordName: currentUserRecordName)
        if known.count < Self.limit { known.append((recordName, id)) }
        return id
    }
}

extension CKRecordZone.ID {
    /// The zone's ID on the wire. It has no owner for zones of the current user.
    package var wireValue: ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zoneName, ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
    }

    /// Creates the ID of a zone from its ID on the wire. The owner is the current user if the ID has no owner, or if
    /// the owner is `currentUserRecordName`.
    package convenience init(wire: ZoneIDDictionary, currentUserRecordName: String? = nil) {
        let owner = wire.ownerRecordName == currentUserRecordName ? nil : wire.ownerRecordName
        self.init(unchecked: wire.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
    }
}

extension CKRecord.ID {
    /// Creates the ID of a user. The current user's ID is `CKCurrentUserDefaultName`, as in Apple's framework.
    package convenience init(userRecordName: String, currentUserRecordName: String? = nil) {
        self.init(unchecked: userRecordName == currentUserRecordName ? CKCurrentUserDefaultName : userRecordName)
    }
}

extension CKRecord.Reference {
    /// Returns the reference on the wire for a referencing record in `zoneID`. If the target is in that zone too, the
    /// reference names no zone.
    package func wireValue(inZone zoneID: CKRecordZone.ID) -> ReferenceValue {
        ReferenceValue(
            recordName: recordID.recordName, zoneID: recordID.zoneID == zoneID ? nil : recordID.zoneID.wireValue,
            action: action == .deleteSelf ? .deleteSelf : .none)
    }

    /// Creates a reference from its form on the wire, for a referencing record in `zoneID`.
    package convenience init(
        wire: ReferenceValue, inZone zoneID: CKRecordZone.ID, currentUserRecordName: String? = nil
    ) {
        var target = zoneID
        if let named = wire.zoneID {
            let other = CKRecordZone.ID(wire: named, currentUserRecordName: currentUserRecordName)
            if other != zoneID { target = other }
        }
        self.init(
            recordID: CKRecord.ID(unchecked: wire.recordName, zoneID: target),
            action: wire.action == .deleteSelf ? .deleteSelf : .none)
    }
}

extension CLLocation {
    package var wireValue: LocationValue {
        LocationValue(
            latitude: coordinate.latitude, longitude: coordinate.longitude, horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: verticalAccuracy, altitude: altitude, speed: speed, course: course,
            timestamp: Timestamp(timestamp))
    }

    package convenience init(wire: LocationValue) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: wire.latitude, longitude: wire.longitude),
            altitude: wire.altitude ?? 0, horizontalAccuracy: wire.horizontalAccuracy ?? 0,
            verticalAccuracy: wire.verticalAccuracy ?? -1, course: wire.course ?? -1, speed: wire.speed ?? -1,
            timestamp: (wire.timestamp ?? 0).date)
    }
}

extension RecordValue {
    /// The reason why the value cannot be sent unchanged; nil if it can be.
    var problem: String? {
        switch self {
        case .string, .bool, .int64, .data, .reference, .asset, .sealed: nil
        case .uint64(let value): "expected a number up to \(Int64.max), found \(value)"
        case .double(let value): FieldValue.double(value).problem
        case .date(let value): FieldValue.timestamp(Timestamp(value)).problem
        case .location(let value): FieldValue.location(value.wireValue).problem
        case .list(let values): values.lazy.compactMap(\.problem).first ?? Self.mixedProblem(values)
        }
    }

    /// The problem of a list of integers and floating-point numbers, whose integers become floating-point numbers.
    private static func mixedProblem(_ values: [RecordValue]) -> String? {
        guard values.contains(where: { if case .double = $0 { true } else { false } }) else { return nil }
        for case .int64(let value) in values where Double(exactly: value) == nil {
            return "expected a number that a Double equals in a list with fractions, found \(value)"
        }
        return nil
    }

    /// Returns the value on the wire. Returns nil for an asset without an upload, which has no form on the wire, and
    /// for a value with a `problem`.
    func wireValue(in context: WireContext) -> FieldValue? {
        switch self {
        case .string(let value): .string(value)
        case .bool(let value): .int64(value ? 1 : 0)
        case .int64(let value): .int64(value)
        case .uint64(let value): Int64(exactly: value).map(FieldValue.int64)
        case .double(let value): .double(value)
        case .date(let value): .timestamp(Timestamp(value))
        case .data(let value): .bytes([UInt8](value))
        case .location(let value): .location(value.wireValue)
        case .reference(let value): .reference(value.wireValue(inZone: context.zoneID))
        case .asset(let value): value.wireValue.map(FieldValue.asset)
        case .list(let values): Self.wireList(values, in: context)
        case .sealed(let value): .sealed(value)
        }
    }

    /// Encodes a list, whose elements have one type on the wire. If the list mixes integers and floating-point numbers,
    /// all become floating-point numbers. A field refuses any other mixture when it is set.
    private static func wireList(_ values: [RecordValue], in context: WireContext) -> FieldValue? {
        var elements: [FieldValue] = []
        elements.reserveCapacity(values.count)
        var isMixed = false
        for value in values {
            guard let element = value.wireValue(in: context) else { return nil }
            if let first = elements.first, first.type != element.type { isMixed = true }
            elements.append(element)
        }
        if isMixed {
            for index in elements.indices {
                guard case .int64(let number) = elements[index] else { continue }
                elements[index] = .double(Double(number))
            }
        }
        return .list(of: elements.first?.type.scalar ?? .unknown, elements)
    }

    /// Creates a value from its form on the wire, for a record in the context's zone.
    init(wire: FieldValue, in context: WireContext) {
        switch wire {
        case .string(let value): self = .string(value)
        case .int64(let value): self = .int64(value)
        case .double(let value): self = .double(value)
        case .bytes(let value): self = .data(Data(value))
        case .timestamp(let value): self = .date(value.date)
        case .location(let value): self = .location(CLLocation(wire: value))
        case .reference(let value):
            self = .reference(
                CKRecord.Reference(
                    wire: value, inZone: context.zoneID, currentUserRecordName: context.currentUserRecordName))
        case .asset(let value): self = .asset(CKAsset(wireValue: value))
        case .list(_, let values): self = .list(values.map { RecordValue(wire: $0, in: context) })
        case .sealed(let value): self = .sealed(value)
        }
    }
}
