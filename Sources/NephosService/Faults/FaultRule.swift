import NephosWire

/// What a client does with a service, as faults address it.
package enum FaultOperation: String, Hashable, Sendable, CaseIterable {
    /// Any of the others but `account`, which the library also asks for in the course of others.
    case any
    case save, delete, fetch, query, changes, zones, subscriptions, assets, sharing, notification, account
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

/// What goes wrong, with which requests, and how often.
package struct FaultRule: Hashable, Sendable {
    /// Which of the matching requests or items fail.
    package enum Occurrence: Hashable, Sendable {
        /// The one with this number, from 1.
        case nth(Int)
        /// As many from the beginning.
        case first(Int)
        case every
        /// Each with this probability, by the seed.
        case probability(Double)
    }

    /// When it happens.
    package enum Stage: String, Hashable, Sendable, CaseIterable {
        /// Before the request arrives: the service does nothing.
        case before
        /// After the service committed the request, whose answer gets lost.
        case after
        /// While the answer arrives: the client has a part of it.
        case amid
    }

    /// The container; nil for any.
    package var container: String?
    package var operation: FaultOperation
    package var code: FaultCode
    package var recordType: String?
    package var recordName: String?
    package var zoneName: String?
    package var database: DatabaseScope?
    package var account: String?
    /// The client ID of the device.
    package var device: String?
    package var occurrence = Occurrence.nth(1)
    package var stage = Stage.before
    /// Whether single items fail and not whole requests; nil for what Apple's framework does with the code.
    package var isOfItems: Bool?
    /// The seconds that the client is asked to wait; nil for the code's own.
    package var retryAfter: Double?

    private static let longestPause = 86_400.0

    package init(_ operation: FaultOperation, _ code: FaultCode) {
        self.operation = operation
        self.code = code
    }

    /// Whether single items fail. A part of an answer, and a code that says how a request went, concern the request.
    var concernsItems: Bool { stage != .amid && (isOfItems ?? code.isOfItems) }

    /// Why no request can ever match; nil if one can.
    package var problem: String? {
        switch occurrence {
        case .nth(let count) where count < 1, .first(let count) where count < 1: return "count from 1"
        case .probability(let share) where !(share > 0 && share <= 1): return "a probability is above 0 and at most 1"
        default: break
        }
        if let retryAfter, !(0...Self.longestPause).contains(retryAfter) {
            return "a pause is a number of seconds, a day at most"
        }
        if code == .serverRecordChanged, let problem = conflictProblem { return problem }
        if code == .partialFailure, !concernsItems {
            return "a partial failure is that of its items, and not a request's"
        }
        if recordType != nil, ![.any, .save, .query].contains(operation) {
            return "\(operation) names no record type: name the record instead"
        }
        if recordName != nil, ![.any, .save, .delete, .fetch].contains(operation) {
            return "\(operation) names no record"
        }
        return nil
    }

    /// A conflict has the service's record, and comes about in one way: another device saved the record before.
    private var conflictProblem: String? {
        if ![.any, .save].contains(operation) { return "only a save has a conflict" }
        if isOfItems == false { return "a conflict is a record's, and not a request's" }
        return stage == .before ? nil : "a conflict is found before a commit"
    }

    func matches(_ item: FaultItem) -> Bool {
        guard operation == item.operation || operation == .any && item.operation != .account else { return false }
        if code == .serverRecordChanged, item.operation != .save || !item.canConflict { return false }
        return Self.matches(recordType, item.recordType) && Self.matches(recordName, item.recordName)
            && Self.matches(zoneName, item.zoneName)
    }

    func matches(_ context: RequestContext) -> Bool {
        Self.matches(container, context.container) && (database == nil || database == context.scope)
            && Self.matches(account, context.account)
            && Self.matches(device, context.clientID)
    }

    private static func matches(_ wanted: String?, _ actual: String?) -> Bool { wanted == nil || wanted == actual }

    /// What the client is told.
    /// - Parameters:
    ///   - item: the item that fails; nil for a request.
    ///   - items: what the request concerns.
    func error(of item: FaultItem? = nil, among items: [FaultItem] = []) -> ServiceError {
        let zoneName = item?.zoneName ?? self.zoneName ?? items.first(where: matches)?.zoneName
        // Where the service has such an error, a fault has its words: apps and this library read some of them.
        var error: ServiceError =
            switch (code, zoneName) {
            case (.changeTokenExpired, _): .changeTokenExpired
            case (.unknownItem, _): .recordNotFound
            case (.batchRequestFailed, _): .atomicFailure
            case (.zoneNotFound, let zoneName?): .zoneNotFound(zoneName)
            default:
                ServiceError(
                    code.serverCode, ServiceError.ClientCode(rawValue: code.rawValue) ?? .internalError,
                    "A fault that was asked for: \(description)")
            }
        // A partial failure is that of its items.
        error.fault = code == .partialFailure && item != nil ? .serverRejectedRequest : code
        error.retryAfter = retryAfter ?? code.retryAfter
        return error
    }
}
