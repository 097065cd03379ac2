import Foundation
package import NephosWire

/// The context that maps the names and values of one record between this library and the service.
struct WireContext {
    /// The zone of the record: references into it omit the zone.
    var zoneID: CKRecordZone.ID
    /// The record name of the signed-in user, if known. This library calls that user `__defaultOwner__`.
    var currentUserRecordName: String?
}

/// A cache of the user IDs that recur in the records of an answer: each is created once.
final class WireUsers {
    let currentUserRecordName: String?
    /// The common prefix of share URLs.
    private let shareURLRoot: String
    private var known: [(recordName: String, id: CKRecord.ID)] = []
    /// The maximum number of entries: beyond it a lookup would cost as much as creating the ID.
    private static let limit = 8

    init(currentUserRecordName: String?, shareURLRoot: String = "") {
        self.currentUserRecordName = currentUserRecordName
        self.shareURLRoot = shareURLRoot
    }

    /// Returns the URL by which participants join a share.
    func shareURL(_ shortGUID: String) -> URL? { URL(string: shareURLRoot + shortGUID) }

    func id(_ recordName: String) -> CKRecord.ID {
        for user in known where user.recordName == recordName { return user.id }
        let id = CKRecord.ID(userRecordName: recordName, currentUserRecordName: currentUserRecordName)
        if known.count < Self.limit { known.append((recordName, id)) }
        return id
    }
}

extension CKRecordZone.ID {
    /// The zone ID on the wire. Zones of the current user have no owner.
    package var wireValue: ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zoneName, ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
    }

    /// Creates the ID of a zone that the service named. No owner means the current user, as does
    /// `currentUserRecordName`.
    package convenience init(wire: ZoneIDDictionary, currentUserRecordName: String? = nil) {
        let owner = wire.ownerRecordName == currentUserRecordName ? nil : wire.ownerRecordName
        self.init(unchecked: wire.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
    }
}

extension CKRecord.ID {
    /// Creates the ID of a user. The ID of the current user is `CKCurrentUserDefaultName`, as in Apple's framework.
    package convenience init(userRecordName: String, currentUserRecordName: String? = nil) {
        self.init(unchecked: userRecordName == currentUserRecordName ? CKCurrentUserDefaultName : userRecordName)
    }
}

extension CKRecord.Reference {
    /// Returns the reference on the wire, as held by a record of `zoneID`: without a zone if the target is in that
    /// zone.
    package func wireValue(inZone zoneID: CKRecordZone.ID) -> ReferenceValue {
        ReferenceValue(
            recordName: recordID.recordName, zoneID: recordID.zoneID == zoneID ? nil : recordID.zoneID.wireValue,
            action: action == .deleteSelf ? .deleteSelf : .none)
    }

    /// Creates a reference that a record of `zoneID` holds.
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
    /// The reason why the value cannot be sent unchanged; nil if it can.
    var problem: String? {
        switch self {
        case .string, .bool, .int64, .data, .reference, .asset, .sealed: nil
        case .uint64(let value): "expected a number up to \(Int64.max), found \(value)"
        case .double(let value): FieldValue.double(value).problem
        case .date(let value): FieldValue.timestamp(Timestamp(value)).problem
        case .location(let value): FieldValue.location(value.wireValue).problem
        case .list(let values): values.lazy.compactMap(\.problem).first
        }
    }

    /// Returns the value on the wire. It is nil for an asset without an upload, which has no form on the wire, and for
    /// a value with a `problem`.
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

    /// Encodes a list. All elements have one type: if integers and floating-point numbers are mixed, all become
    /// floating-point numbers. Setting a field refuses any other mixture.
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
            elements = elements.map { element in
                if case .int64(let number) = element { .double(Double(number)) } else { element }
            }
        }
        return .list(of: elements.first?.type.scalar ?? .unknown, elements)
    }

    /// Creates a value from the service's answer, for a record of the context's zone.
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
