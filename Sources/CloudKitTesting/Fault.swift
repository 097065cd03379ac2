public import CloudKit
import NephosService
import Synchronization

/// Something that goes wrong at the service's door, because a test asked for it (`LocalCloud.fail`).
public final class Fault: Sendable, CustomStringConvertible {
    /// What a client does, as faults, holds and counts address it.
    public enum Operation: String, Hashable, Sendable, CaseIterable {
        /// Any of the others but `keys` and `account`, which the library also sends in the course of others.
        case any
        /// Saving, deleting and fetching records, and finding them by a query.
        case save, delete, fetch, query
        /// Fetching the changes of a database or zone.
        case changes
        /// Fetching, saving and deleting zones, as far as the app asks for it: what a `CKSyncEngine` looks up for itself
        /// is `any` alone.
        case zones
        /// Fetching, saving and deleting subscriptions.
        case subscriptions
        /// Uploads and downloads of files.
        case assets
        /// Share links, participants, access requests. Shares themselves are records, of the type `cloudkit.share`.
        case sharing
        /// Registering for notifications, and waiting for one.
        case notification
        /// The keys of encrypted values: a device's enrolment, and the keys of zones, shares and records, which name their
        /// zone.
        case keys
        /// Fetching the account's user record ID: `accountStatus()`, `userRecordID()`, and the library's own lookups.
        case account
    }

    /// Which of the matching requests or items fail.
    public enum Occurrence: Hashable, Sendable {
        /// The first.
        case next
        /// The one with this number, from 1.
        case nth(Int)
        /// As many from the beginning.
        case first(Int)
        /// Every one, until the fault is cancelled.
        case all
        /// Each with this probability, above 0 and at most 1, by the cloud's seed.
        case probability(Double)
    }

    /// When it happens.
    public enum Stage: Hashable, Sendable {
        /// Before the request arrives: the service does nothing.
        case beforeArrival
        /// After the service has committed the request: its answer gets lost.
        case afterCommit
        /// While the answer arrives: of a query or of changes the client gets the first half, of a file nothing.
        case amidAnswer
    }

    /// What fails.
    public enum Level: Hashable, Sendable {
        /// A record or zone, in the `partialFailure` of its batch.
        case item
        /// The whole request.
        case request
    }

    private let plan: FaultPlan
    private let id: Int
    private let rule: FaultRule
    private let place: SourcePlace

    init(_ rule: FaultRule, in plan: FaultPlan, at place: SourcePlace) {
        self.rule = rule
        self.plan = plan
        self.place = place
        id = plan.add(rule)
    }

    private var entry: FaultPlan.Entry? { plan.entries.first { $0.id == id } }

    /// How often it happened; 0 after `cancel()`.
    public var count: Int { entry?.happened ?? 0 }

    /// Has it happen no more. The test then does not fail if it never did.
    public func cancel() { plan.remove(id) }

    /// The fault in words, as `nephos faults` takes it.
    public var description: String { rule.description }
}

/// What a test asked for, and what has to be so at its end.
protocol CloudExpectation: Sendable {
    /// What is wrong with it at the end of a test.
    func problem(seed: UInt64) -> CloudProblem?
}

extension Fault: CloudExpectation {
    func problem(seed: UInt64) -> CloudProblem? {
        guard let entry, entry.happened == 0 else { return nil }
        // A probability may spare every request that matches.
        if case .probability = rule.occurrence, entry.matches > 0 { return nil }
        var text = "The fault `\(rule)` never happened: "
        if let problem = rule.problem {
            text += problem + "."
        } else if entry.matches == 0 {
            text += "no request matched it."
        } else {
            text += "\(entry.matches) matched, and that is none of its turns (seed \(seed))."
        }
        return CloudProblem(text: text, place: place)
    }
}

extension LocalCloud {
    /// Has requests to this cloud go wrong. A fault of a test with `.cloud` or of `withCloud` has to happen, or the test
    /// fails.
    ///
    ///     cloud.fail(.save, with: .networkFailure)
    ///     cloud.fail(.save, type: "Note", device: "phone", .first(2), at: .afterCommit, with: .serviceUnavailable)
    ///
    /// What others can cause, they cause, and the service's own rules report it: `serverRecordChanged` is another
    /// device's save, `unknownItem` another device's deletion of the record, in the private database with those below it,
    /// `zoneNotFound` and `userDeletedZone` a removal of the zone, where the item has such. In the shared database the
    /// zone's owner deletes the record, ends the shares, or removes the app's data. Everything else is made up, with the `userInfo` of Apple's framework.
    /// - Parameters:
    ///   - type: the record type that is saved or queried; nil for any. Deletions and fetches name no type.
    ///   - record: the name of the record that is saved, deleted or fetched; nil for any.
    ///   - zone: the name of the zone; nil for any.
    ///   - occurrence: which of the matching requests or items fail.
    ///   - level: whether single items or whole requests fail; nil for what Apple's framework does with the code.
    ///   - retryAfter: the seconds that the client is asked to wait (`CKErrorRetryAfterKey`); nil for 0.1 with the codes
    ///     that have it, as apps really wait.
    @discardableResult
    public func fail(
        _ operation: Fault.Operation, type: CKRecord.RecordType? = nil, record: String? = nil, zone: String? = nil,
        database: CKDatabase.Scope? = nil, account: String? = nil, device: String? = nil,
        _ occurrence: Fault.Occurrence = .next, at stage: Fault.Stage = .beforeArrival, level: Fault.Level? = nil,
        with code: CKError.Code, retryAfter: Double? = nil, fileID: String = #fileID, filePath: String = #filePath,
        line: Int = #line, column: Int = #column
    ) -> Fault {
        var rule = FaultRule(.any, FaultCode(rawValue: code.rawValue) ?? .internalError)
        rule.address = RequestAddress(
            operation, type: type, record: record, zone: zone, database: database, account: account, device: device)
        rule.occurrence = occurrence.rule
        rule.stage = stage.rule
        rule.isOfItems = level.map { $0 == .item }
        rule.retryAfter = retryAfter
        let state = state
        let place = SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column)
        let fault = Fault(rule, in: state.faults, at: place)
        state.expected.withLock { $0.append(fault) }
        return fault
    }
}

extension Fault.Occurrence {
    var rule: FaultRule.Occurrence {
        switch self {
        case .next: .nth(1)
        case .nth(let number): .nth(number)
        case .first(let count): .first(count)
        case .all: .every
        case .probability(let share): .probability(share)
        }
    }
}

extension Fault.Stage {
    var rule: FaultRule.Stage {
        switch self {
        case .beforeArrival: .before
        case .afterCommit: .after
        case .amidAnswer: .amid
        }
    }
}

extension DatabaseScope {
    init(_ scope: CKDatabase.Scope) {
        self =
            switch scope {
            case .public: .public
            case .private: .private
            case .shared: .shared
            }
    }
}
