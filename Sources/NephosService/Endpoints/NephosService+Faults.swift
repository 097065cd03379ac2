import NephosWire

extension NephosService {
    /// Answers a decoded request. Every endpoint's requests pass here, over HTTP and in the caller's process.
    /// - Parameter fault: what is to go wrong with this request alone.
    package func answer<Answer: EndpointAnswering>(
        _ answer: Answer, _ request: Answer.Decoded, _ context: RequestContext, fault: FaultRule? = nil
    ) async throws(ServiceError) -> Answer.Response {
        try checkAdditions(in: request, to: answer, context)
        guard let plan = fault == nil ? faults : makeFaults() else {
            return try await answer.call(self)(request, context)
        }
        let faulty = FaultyAnswer(
            service: self, plan: plan, path: answer.path, context: context, fault: fault)
        return try await faulty.run(request, answer.call(self))
    }

    /// Does what is no request to an endpoint (a file's transfer, a wait for a notification), unless a fault hinders it.
    package func withFaults<Value>(
        _ operation: FaultOperation, _ context: RequestContext, _ body: () async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard let plan = faults else { return try await body() }
        let items = [FaultItem(operation)]
        let holds = try await plan.admit(items, context)
        let value = try await (holds.after + holds.amid).afterwards { () throws(ServiceError) in
            let fault = plan.decide(items, context).any
            if let fault, fault.stage == .before { throw fault.error() }
            let value = try await body()
            if let fault { throw fault.error() }
            return value
        }
        // What arrives while a device is offline does not reach it.
        if plan.isOffline(context) { throw .offline }
        return value
    }
}

extension FaultPlan {
    /// Counts a request that a client sends, and holds it before it arrives.
    /// - Parameter follower: how the request asks for the rest of an answer.
    /// - Returns: what holds its answer.
    fileprivate func admit(
        _ items: [FaultItem], _ context: RequestContext, following follower: CutAnswer.Follower? = nil
    ) async throws(ServiceError) -> RequestHolds {
        note(items, context)
        if isOffline(context) { throw .offline }
        let holds = holds(of: items, context, following: follower)
        try await holds.before.hold()
        // The device may have lost its network meanwhile.
        if !holds.before.isEmpty, isOffline(context) { throw .offline }
        return holds
    }
}

extension [RequestHold] {
    /// Returns once all of them have let the request go on.
    fileprivate func hold() async throws(ServiceError) {
        for one in self { try await one.hold() }
    }

    /// Returns the answer to a request, or its error, once all of them have let it go on.
    fileprivate func afterwards<Answer>(
        _ body: () async throws(ServiceError) -> Answer
    ) async throws(ServiceError) -> Answer {
        let answer: Answer
        do throws(ServiceError) {
            answer = try await body()
        } catch {
            try await hold()
            throw error
        }
        try await hold()
        return answer
    }
}

extension FaultDecision {
    /// The fault of a request that has no items of its own.
    fileprivate var any: FaultRule? { request ?? items.values.first }
}

extension ServiceError {
    /// The error of a device that is offline.
    fileprivate static var offline: ServiceError {
        var error = FaultRule(.any, .networkUnavailable).error()
        error.reason = "The device is offline (`isOffline`)"
        return error
    }
}

/// One request to a service that has faults.
private struct FaultyAnswer {
    let service: NephosService
    let plan: FaultPlan
    let path: String
    var context: RequestContext
    /// The fault that the request itself asks for; nil for none.
    let fault: FaultRule?

    func run<Request: Sendable, Response: Sendable>(
        _ request: Request, _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        plan.count(1)
        defer { plan.count(-1) }
        let items = FaultItems.of(request, path)
        let holds = try await plan.admit(items, context, following: follower(FaultPages.markers(of: request)))
        let response = try await holds.after.afterwards { () throws(ServiceError) in
            try await bounded(request, items, holds.amid, call)
        }
        // What arrives while a device is offline does not reach it.
        if plan.isOffline(context) { throw .offline }
        plan.note(ChangeTokens.of(response), of: context.clientID, now: service.environment.now())
        return response
    }

    private func bounded<Request: Sendable, Response: Sendable>(
        _ request: Request, _ items: [FaultItem], _ holds: [RequestHold],
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        var request = request
        if let bounds = plan.bounds {
            try bounds.check(request)
            request = bounds.limited(request)
            plan.expire(ChangeTokens.of(request), of: context.clientID, now: service.environment.now())
        }
        if let token = (request as? DatabaseChangesRequest)?.syncToken, plan.hasExpired(token, of: context.clientID) {
            throw .changeTokenExpired
        }
        return try await unbounded(request, items, holds, call)
    }

    private func unbounded<Request: Sendable, Response: Sendable>(
        _ request: Request, _ items: [FaultItem], _ holds: [RequestHold],
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        let decision = plan.decide(items, context, following: follower(FaultPages.markers(of: request)), own: fault)
        if !holds.isEmpty, decision.isEmpty, !plan.isUnfriendly { return try await part(request, items, holds, call) }
        return try await holds.afterwards { () throws(ServiceError) in
            try await decided(request, items, decision, call)
        }
    }

    private func decided<Request: Sendable, Response: Sendable>(
        _ request: Request, _ items: [FaultItem], _ decision: FaultDecision,
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        if let fault = decision.request, fault.stage == .before { throw fault.error(among: items) }
        let isUnfriendly = plan.isUnfriendly
        let readable = isUnfriendly ? Unfriendliness.readable(request) : request
        if let fault = decision.request, fault.stage == .amid {
            return try await cut(readable, items, fault, decision.entry, call)
        }
        if isUnfriendly {
            var plain = self
            plain.context.takesEncodedRecords = false
            let response = try await plain.itemised(readable, items, decision, call)
            if let fault = decision.request { throw fault.error(among: items) }
            return plan.changed(response, to: readable, plain.context)
        }
        let response = try await itemised(request, items, decision, call)
        if let fault = decision.request { throw fault.error(among: items) }
        return response
    }

    // MARK: Items

    private func itemised<Request: Sendable, Response: Sendable>(
        _ request: Request, _ items: [FaultItem], _ decision: FaultDecision,
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        guard let batch = request as? any ItemisedRequest, let form = Response.self as? any ItemisedAnswer.Type else {
            guard let fault = decision.items.values.first else { return try await call(request, context) }
            if fault.code == .changeTokenExpired {
                plan.expire((request as? DatabaseChangesRequest)?.syncToken, of: context.clientID)
            }
            if fault.stage == .before { throw fault.error(among: items) }
            _ = try await call(request, context)
            throw fault.error(among: items)
        }
        return try await answer(batch, form, items, decision, call)
    }

    /// Passes on the items that do not fail, and answers for the others.
    private func answer<Answer: ItemisedAnswer, Request, Response: Sendable>(
        _ batch: some ItemisedRequest, _: Answer.Type, _ items: [FaultItem], _ decision: FaultDecision,
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        var early: [Int: ServiceError] = expired(batch)
        if let bounds = plan.bounds { early.merge(bounds.failures(of: batch)) { own, _ in own } }
        var late: [Int: ServiceError] = [:]
        for (place, fault) in decision.items.sorted(by: { $0.key < $1.key }) where early[place] == nil {
            let error = fault.error(of: items[place])
            if fault.code == .changeTokenExpired { expireToken(of: batch, place) }
            if fault.stage != .before {
                late[place] = error
            } else if try await !FaultCause(service: service, context: context).cause(fault, batch, place, items[place])
            {
                early[place] = error
            }
        }
        if early.isEmpty, late.isEmpty, let request = batch as? Request { return try await call(request, context) }
        early.merge(batch.dependents(of: early)) { own, _ in own }
        // An item that fails before the commit has no answer to lose.
        late = late.filter { early[$0.key] == nil }
        let places = items.indices.filter { early[$0] == nil }
        // What a server has encoded cannot be put together with what a fault makes of it.
        var plain = context
        plain.takesEncodedRecords = false
        var kept: Answer?
        if !places.isEmpty, let request = batch.keeping(places) as? Request {
            kept = try await call(request, plain) as? Answer
        }
        if let results = (kept as? RecordsResponse)?.records {
            for (place, result) in zip(places, results) where result.isFailure { late[place] = nil }
        }
        let answer = batch.answer(
            kept, at: places, failures: early.merging(late) { $1 }, requestID: context.requestID)
        guard let answer = answer as? Response else { throw .internalError }
        return answer
    }

    private func expired(_ batch: some ItemisedRequest) -> [Int: ServiceError] {
        guard let changes = batch as? RecordZoneChangesRequest else { return [:] }
        let places = changes.zones.indices.filter { plan.hasExpired(changes.zones[$0].syncToken, of: context.clientID) }
        return Dictionary(uniqueKeysWithValues: places.map { ($0, .changeTokenExpired) })
    }

    private func expireToken(of batch: some ItemisedRequest, _ place: Int) {
        plan.expire((batch as? RecordZoneChangesRequest)?.zones[place].syncToken, of: context.clientID)
    }

    // MARK: A part of an answer

    /// Answers with the first half of a page, and has the request for the next page fail. An answer that has no parts, or
    /// one part, is lost whole.
    private func cut<Request: Sendable, Response: Sendable>(
        _ request: Request, _ items: [FaultItem], _ fault: FaultRule, _ entry: Int?,
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        let (part, follower) = try await half(request, items, call)
        guard let follower else { throw fault.error(among: items) }
        var next = fault
        next.stage = .before
        plan.cut(CutAnswer(follower: follower, rule: next, entry: entry))
        return part
    }

    /// Answers with the first half of a page, and has the request for the next page held. An answer that has no parts, one
    /// part, or an error is held whole.
    private func part<Request: Sendable, Response: Sendable>(
        _ request: Request, _ items: [FaultItem], _ holds: [RequestHold],
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        let answer: (part: Response, follower: CutAnswer.Follower?)
        do throws(ServiceError) {
            answer = try await half(request, items, call)
        } catch {
            try await holds.hold()
            throw error
        }
        if let follower = answer.follower { plan.hold(holds, from: follower) } else { try await holds.hold() }
        return answer.part
    }

    /// Returns the first half of a page, and who asks for the rest; the whole answer and nil for one that has no parts, or one
    /// part.
    private func half<Request: Sendable, Response: Sendable>(
        _ request: Request, _ items: [FaultItem],
        _ call: (Request, RequestContext) async throws(ServiceError) -> Response
    ) async throws(ServiceError) -> (Response, CutAnswer.Follower?) {
        let decision = FaultDecision()
        guard let first = FaultPages.limited(request, { $0 }) else {
            return (try await itemised(request, items, decision, call), nil)
        }
        var plain = self
        plain.context.takesEncodedRecords = false
        let whole = try await plain.itemised(first, items, decision, call)
        guard let count = FaultPages.count(whole), count > 1, let half = FaultPages.limited(request, { _ in count / 2 })
        else {
            return (whole, nil)
        }
        let part = try await plain.itemised(half, items, decision, call)
        guard let follower = follower(FaultPages.next(after: part)) else { return (whole, nil) }
        return (part, follower)
    }

    private func follower(_ markers: [String?]) -> CutAnswer.Follower? {
        CutAnswer.Follower(context, path: path, markers: markers)
    }
}
