import NephosWire

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

    /// Which requests or items it concerns.
    package var address: RequestAddress
    package var code: FaultCode
    package var occurrence = Occurrence.nth(1)
    package var stage = Stage.before
    /// Whether single items fail and not whole requests; nil for what Apple's framework does with the code.
    package var isOfItems: Bool?
    /// The seconds that the client is asked to wait; nil for the code's own.
    package var retryAfter: Double?

    private static let longestPause = 86_400.0

    package init(_ operation: FaultOperation, _ code: FaultCode) {
        address = RequestAddress(operation)
        self.code = code
    }

    /// Whether single items fail. A part of an answer, and a code that says how a request went, concern the request.
    var concernsItems: Bool { stage != .amid && (isOfItems ?? code.isOfItems) }

    /// Why no request can ever match; nil if one can.
    package var problem: String? {
        if let problem = occurrence.problem { return problem }
        if let retryAfter, !(0...Self.longestPause).contains(retryAfter) {
            return "a pause is a number of seconds, a day at most"
        }
        if code == .serverRecordChanged, let problem = conflictProblem { return problem }
        if code == .partialFailure, !concernsItems {
            return "a partial failure is that of its items, and not a request's"
        }
        return address.problem
    }

    /// A conflict has the service's record, and comes about in one way: another device saved the record before.
    private var conflictProblem: String? {
        if ![.any, .save].contains(address.operation) { return "only a save has a conflict" }
        if isOfItems == false { return "a conflict is a record's, and not a request's" }
        return stage == .before ? nil : "a conflict is found before a commit"
    }

    func matches(_ item: FaultItem) -> Bool {
        if code == .serverRecordChanged, item.operation != .save || !item.canConflict { return false }
        return address.matches(item)
    }

    /// What the client is told.
    /// - Parameters:
    ///   - item: the item that fails; nil for a request.
    ///   - items: what the request concerns.
    func error(of item: FaultItem? = nil, among items: [FaultItem] = []) -> ServiceError {
        let zoneName = item?.zoneName ?? address.zoneName ?? items.first(where: matches)?.zoneName
        // Where the service has such an error, a fault has its words: apps and this library read some of them.
        var error: ServiceError =
            switch (code, zoneName) {
            case (.changeTokenExpired, _): .changeTokenExpired
            case (.unknownItem, _): .recordNotFound
            case (.batchRequestFailed, _): .atomicFailure
            case (.zoneNotFound, let zoneName?): .zoneNotFound(zoneName)
            case (.userDeletedZone, _): .zonePurged
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

extension FaultRule.Occurrence {
    /// Why none can ever be meant; nil if one can.
    var problem: String? {
        switch self {
        case .nth(let count) where count < 1, .first(let count) where count < 1: "count from 1"
        case .probability(let share) where !(share > 0 && share <= 1): "a probability is above 0 and at most 1"
        default: nil
        }
    }

    /// Whether the match with this number, from 1, is meant.
    func means(_ number: Int, _ generator: inout SplitMix) -> Bool {
        switch self {
        case .nth(let wanted): number == wanted
        case .first(let count): number <= count
        case .every: true
        case .probability(let share): Double.random(in: 0..<1, using: &generator) < share
        }
    }
}
