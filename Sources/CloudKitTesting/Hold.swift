public import CloudKit
import NephosService
import Synchronization

/// A stop on the way of requests, because a test asked for it (`LocalCloud.hold`).
public final class Hold: Sendable, CustomStringConvertible {
    private let plan: FaultPlan
    private let hold: RequestHold
    private let place: SourcePlace

    init(_ hold: RequestHold, in plan: FaultPlan, at place: SourcePlace) {
        self.hold = hold
        self.plan = plan
        self.place = place
        plan.add(hold)
    }

    /// How many requests it held so far.
    public var count: Int { hold.held }

    /// Returns once a request is held; at once if one was.
    /// - Parameter limit: the real time after which no request is expected any more.
    /// - Throws: `CloudFailure` if no request came in time; `CancellationError` if the caller's task is cancelled.
    public func arrived(within limit: Duration = .seconds(60)) async throws {
        if await hold.arrival.wait(within: limit) { return }
        try Task.checkCancellation()
        throw CloudFailure(problems: ["`\(hold)` held no request within \(limit): \(cause)"])
    }

    /// Lets the held requests go on, and holds no more.
    public func release() { plan.release(hold) }

    /// The requests that it holds, in the words of `nephos faults`.
    public var description: String { hold.description }

    private var cause: String {
        if let problem = hold.problem { return problem + "." }
        if plan.awaitsRest(hold) { return "a client has the first half of an answer, and asked for no more." }
        return hold.matches == 0
            ? "no request matched it." : "\(hold.matches) matched, and it stopped none of them."
    }
}

extension Hold: CloudExpectation {
    /// What is wrong where the test did not release a request.
    var timedOut: CloudProblem? {
        guard hold.hasTimedOut else { return nil }
        return CloudProblem(
            text:
                "`\(hold)` held a request that was not released for \(plan.idleTimeout.limit), in which no other came: "
                + "call release() before the test awaits it.", place: place)
    }

    func problem(seed: UInt64) -> CloudProblem? {
        if count > 0 { return nil }
        // A probability may spare every request that matches.
        if case .probability = hold.occurrence, hold.matches > 0 { return nil }
        return CloudProblem(text: "`\(hold)` held no request: \(cause)", place: place)
    }
}

/// How many requests of some kind a cloud has seen since a test asked for it (`LocalCloud.requests`).
public final class RequestCount: Sendable, CustomStringConvertible {
    private let plan: FaultPlan
    private let counter: RequestCounter
    private let place: SourcePlace

    init(_ counter: RequestCounter, in plan: FaultPlan, at place: SourcePlace) {
        self.counter = counter
        self.plan = plan
        self.place = place
        plan.add(counter)
    }

    deinit { plan.remove(counter) }

    /// How many requests came, those included that failed or that a device sent while it was offline.
    public var count: Int { counter.count }

    /// The requests in the words of `nephos faults`, and their number.
    public var description: String { "\(counter.address): \(count)" }
}

extension RequestCount: CloudExpectation {
    func problem(seed: UInt64) -> CloudProblem? {
        counter.address.problem.map {
            CloudProblem(text: "`\(counter.address)` counts no request: \($0).", place: place)
        }
    }
}

extension LocalCloud {
    /// Holds requests on their way until `release()`, so that something else happens meanwhile.
    ///
    ///     let held = cloud.hold(.save, record: "shopping")
    ///     async let saving = phone.save(note)
    ///     try await held.arrived()
    ///     try await tablet.save(other)
    ///     held.release()
    ///
    /// In a test with `.cloud` or in `withCloud` it has to hold a request, or the test fails; at the end of the test it is
    /// released. A request whose task is cancelled while it is held fails with `operationCancelled`, and does not arrive. So
    /// does, with the test, one that is held for a minute of real time in which no other comes: the test awaits it.
    /// - Parameters:
    ///   - type: the record type that is saved or queried; nil for any. Deletions and fetches name no type.
    ///   - record: the name of the record that is saved, deleted or fetched; nil for any.
    ///   - zone: the name of the zone; nil for any.
    ///   - occurrence: which of the matching requests are held.
    ///   - stage: where they are held: before the service has seen them, or when their answer, which may be an error, is
    ///     on its way. Amid the answer of a query or of changes the client has the first half, and its request for the rest is
    ///     held; an answer without parts is held whole.
    public func hold(
        _ operation: Fault.Operation, type: CKRecord.RecordType? = nil, record: String? = nil, zone: String? = nil,
        database: CKDatabase.Scope? = nil, account: String? = nil, device: String? = nil,
        _ occurrence: Fault.Occurrence = .next, at stage: Fault.Stage = .beforeArrival, fileID: String = #fileID,
        filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) -> Hold {
        let address = RequestAddress(
            operation, type: type, record: record, zone: zone, database: database, account: account, device: device)
        let state = state
        let hold = Hold(
            RequestHold(address, occurrence.rule, at: stage.rule, state.idleTimeout), in: state.faults,
            at: SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column))
        state.expected.withLock { $0.append(hold) }
        return hold
    }

    /// Counts requests from here on, as long as the count exists.
    ///
    ///     let saves = cloud.requests(.save, device: "phone")
    ///     …
    ///     #expect(saves.count == 1)
    ///
    /// A request with several records or zones counts once, and so does each part of what an operation splits. `.any`
    /// includes waits for notifications.
    /// - Parameters:
    ///   - type: the record type that is saved or queried; nil for any. Deletions and fetches name no type.
    ///   - record: the name of the record that is saved, deleted or fetched; nil for any.
    ///   - zone: the name of the zone; nil for any.
    public func requests(
        _ operation: Fault.Operation = .any, type: CKRecord.RecordType? = nil, record: String? = nil,
        zone: String? = nil, database: CKDatabase.Scope? = nil, account: String? = nil, device: String? = nil,
        fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) -> RequestCount {
        let address = RequestAddress(
            operation, type: type, record: record, zone: zone, database: database, account: account, device: device)
        let state = state
        let count = RequestCount(
            RequestCounter(address), in: state.faults,
            at: SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column))
        // One that can count nothing is reported at the end of the test.
        if address.problem != nil { state.expected.withLock { $0.append(count) } }
        return count
    }
}

extension RequestAddress {
    init(
        _ operation: Fault.Operation, type: String?, record: String?, zone: String?, database: CKDatabase.Scope?,
        account: String?, device: String?
    ) {
        self.init(FaultOperation(rawValue: operation.rawValue) ?? .any)
        recordType = type
        recordName = record
        zoneName = zone
        self.database = database.map(DatabaseScope.init)
        self.account = account
        self.device = device
    }
}
