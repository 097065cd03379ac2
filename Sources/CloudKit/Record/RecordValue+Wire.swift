import Foundation
package import NephosWire

/// How our side's names and values translate to the service's for one record.
struct WireContext {
    /// The zone of the record: references into it go without a zone.
    var zoneID: CKRecordZone.ID
    /// The record name of the signed-in user, where it is known: our side calls this user `__defaultOwner__`.
    var currentUserRecordName: String?
}

/// The IDs of the users that the records of an answer name over and over: each is made once.
final class WireUsers {
    let currentUserRecordName: String?
    /// What a share's URL begins with.
    private let shareURLRoot: String
    private var known: [(recordName: String, id: CKRecord.ID)] = []
    /// Beyond it, looking for an ID would cost as much as making it.
    private static let limit = 8

    init(currentUserRecordName: String?, shareURLRoot: String = "") {
        self.currentUserRecordName = currentUserRecordName
        self.shareURLRoot = shareURLRoot
    }

    /// Where a share is joined.
    func shareURL(_ shortGUID: String) -> URL? { URL(string: shareURLRoot + shortGUID) }

    func id(_ recordName: String) -> CKRecord.ID {
        for user in known where user.recordName == recordName { return user.id }
        let id = CKRecord.ID(userRecordName: recordName, currentUserRecordName: currentUserRecordName)
        if known.count < Self.limit { known.append((recordName, id)) }
        return id
    }
}

extension CKRecordZone.ID {
    /// The zone as the service names it: the current user's own zones go without an owner.
    package var wireValue: ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zoneName, ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
    }

    /// A zone that the service named. No owner means the current user, as does `currentUserRecordName`.
    package convenience init(wire: ZoneIDDictionary, currentUserRecordName: String? = nil) {
        let owner = wire.ownerRecordName == currentUserRecordName ? nil : wire.ownerRecordName
        self.init(unchecked: wire.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
    }
}

extension CKRecord.ID {
    /// The ID of the user of that record name; the current user's is `CKCurrentUserDefaultName`, as Apple shows it.
    package convenience init(userRecordName: String, currentUserRecordName: String? = nil) {
        self.init(unchecked: userRecordName == currentUserRecordName ? CKCurrentUserDefaultName : userRecordName)
    }
}

extension CKRecord.Reference {
    /// The reference as a record of `zoneID` holds it on the wire: without a zone where that is its own.
    package func wireValue(inZone zoneID: CKRecordZone.ID) -> ReferenceValue {
        ReferenceValue(
            recordName: recordID.recordName, zoneID: recordID.zoneID == zoneID ? nil : recordID.zoneID.wireValue,
            action: action == .deleteSelf ? .deleteSelf : .none)
    }

    /// A reference that a record of `zoneID` holds.
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
    /// Why the value cannot be sent as it is; nil where it can.
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

    /// The value as it is sent; nil for an asset that was not uploaded yet, which has no form on the wire, and for what
    /// has a `problem`.
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

    /// A list has one element type: whole numbers beside floating-point ones become floating-point numbers too. Any
    /// other mixture is refused when it is set.
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

    /// A value that came from the service, in a record of the context's zone.
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
