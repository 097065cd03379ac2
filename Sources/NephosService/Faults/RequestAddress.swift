import NephosWire

/// What a client does with a service, as faults, holds and counts address it.
package enum FaultOperation: String, Hashable, Sendable, CaseIterable {
    /// Any of the others but `keys` and `account`, which the library also sends in the course of others.
    case any
    case save, delete, fetch, query, changes, zones, subscriptions, assets, sharing, notification, keys, account
}

/// A thing that a request concerns: a record to save, a zone whose changes are fetched. The values that the request does
/// not name are nil.
package struct FaultItem: Hashable, Sendable {
    var operation: FaultOperation
    var recordType: String?
    var recordName: String?
    var zoneID: ZoneIDDictionary?
    /// Whether another device's save can make this one a conflict: a save that replaces whatever there is has none.
    var canConflict = true

    init(
        _ operation: FaultOperation, recordType: String? = nil, recordName: String? = nil,
        zoneID: ZoneIDDictionary? = nil
    ) {
        self.operation = operation
        self.recordType = recordType
        self.recordName = recordName
        self.zoneID = zoneID
    }

    var zoneName: String? { zoneID?.zoneName }
}

/// Which requests and items are meant: each value that is not nil has to match.
package struct RequestAddress: Hashable, Sendable {
    package var container: String?
    package var operation: FaultOperation
    package var recordType: String?
    package var recordName: String?
    package var zoneName: String?
    package var database: DatabaseScope?
    package var account: String?
    /// The client ID of the device.
    package var device: String?

    package init(_ operation: FaultOperation) { self.operation = operation }

    /// Why no request can ever match; nil if one can.
    package var problem: String? {
        if recordType != nil, ![.any, .save, .query].contains(operation) {
            return "\(operation) names no record type: name the record instead"
        }
        if recordName != nil, ![.any, .save, .delete, .fetch].contains(operation) {
            return "\(operation) names no record"
        }
        if zoneName != nil, [.subscriptions, .assets, .sharing, .notification, .account].contains(operation) {
            return "\(operation) names no zone"
        }
        return nil
    }

    func matches(_ item: FaultItem) -> Bool {
        guard operation == item.operation || operation == .any && ![.keys, .account].contains(item.operation) else {
            return false
        }
        return Self.matches(recordType, item.recordType) && Self.matches(recordName, item.recordName)
            && Self.matches(zoneName, item.zoneName)
    }

    func matches(_ context: RequestContext) -> Bool {
        // What a sync engine looks up for itself is none of the app's requests about zones.
        if context.isOfSyncEngine, operation == .zones { return false }
        return Self.matches(container, context.container) && (database == nil || database == context.scope)
            && Self.matches(account, context.account)
            && Self.matches(device, context.clientID)
    }

    func matches(_ items: [FaultItem], _ context: RequestContext) -> Bool {
        matches(context) && items.contains(where: matches)
    }

    private static func matches(_ wanted: String?, _ actual: String?) -> Bool { wanted == nil || wanted == actual }
}
