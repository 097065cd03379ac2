import NephosTesting
import Testing

@testable import NephosServer

/// The decisions about a request, without a socket: events in, actions out.
@Suite struct ExchangeStateTests {
    typealias Event = ExchangeState.Event
    typealias Action = ExchangeState.Action

    /// One event, and the expected action.
    struct Step {
        let event: Event
        let action: Action

        init(_ event: Event, _ action: Action) {
            (self.event, self.action) = (event, action)
        }
    }

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]

        init(_ name: String, _ steps: Step...) {
            (testDescription, self.steps) = (name, steps)
        }
    }

    private static let limit = 100_000
    private static let dropped = 200_000

    private static func state() -> ExchangeState {
        ExchangeState(bodyLimit: limit, droppedBodyLimit: dropped)
    }

    private static func head(
        _ length: Int? = nil, expects: Bool = false, ambiguous: Bool = false, streamed: Bool = false
    ) -> Event {
        .head(.init(contentLength: length, expectsContinue: expects, isAmbiguous: ambiguous, isStreamed: streamed))
    }

    private static func expect(_ test: Case) {
        var state = state()
        for (number, step) in test.steps.enumerated() {
            let action = state.handle(step.event)
            #expect(action == step.action, "step \(number), \(step.event)")
        }
    }

    // MARK: - Buffered bodies

    @Test(arguments: [
        Case(
            "without a body", Step(head(), .buffer(0)), Step(.called(bytes: 0), .run),
            Step(.answered, .answer(.handler))),
        Case(
            "a handler that waits", Step(head(), .buffer(0)), Step(.called(bytes: 0), .run), Step(.suspended, .wait),
            Step(.called(bytes: 0), .proceed), Step(.suspended, .wait), Step(.called(bytes: 0), .proceed),
            Step(.answered, .answer(.handler))),
        Case(
            "a short body", Step(head(5), .buffer(5)), Step(.called(bytes: 5), .append), Step(.called(bytes: 0), .run),
            Step(.answered, .answer(.handler))),
        Case(
            "of exactly the limit", Step(head(limit), .checkRoom), Step(.room(true), .buffer(limit)),
            Step(.called(bytes: 30_000, capacity: limit), .append),
            Step(.called(bytes: 30_000, capacity: limit), .reserve(limit)), Step(.reserved(true), .append),
            Step(.called(bytes: limit - 60_000, capacity: limit), .append), Step(.called(bytes: 0), .run),
            Step(.answered, .answer(.handler))),
        Case(
            "chunked, of exactly the limit", Step(head(), .buffer(0)),
            Step(.called(bytes: limit, capacity: 0), .reserve(limit)), Step(.reserved(true), .append),
            Step(.called(bytes: 0), .run), Step(.answered, .answer(.handler))),
    ])
    func `a body up to the limit is buffered for the handler`(_ test: Case) {
        Self.expect(test)
    }

    @Test func `an arriving body reserves twice its bytes, but no more than its buffer has`() {
        Self.expect(
            Case(
                "", Step(Self.head(90_000), .checkRoom), Step(.room(true), .buffer(90_000)),
                Step(.called(bytes: 32 * 1024, capacity: 90_000), .append),
                Step(.called(bytes: 1, capacity: 90_000), .reserve(2 * (32 * 1024 + 1))),
                Step(.reserved(true), .append),
                Step(.called(bytes: 32 * 1024 + 1, capacity: 90_000), .append),
                Step(.called(bytes: 1, capacity: 90_000), .reserve(90_000))))
    }

    // MARK: - Bodies over the limit

    @Test(arguments: [
        Case(
            "one byte more", Step(head(), .buffer(0)), Step(.called(bytes: limit), .reserve(limit)),
            Step(.reserved(true), .append), Step(.called(bytes: 1), .discard), Step(.called(bytes: 0), .run),
            Step(.answered, .answer(.handler))),
        Case(
            "announced", Step(head(limit + 1), .wait), Step(.called(bytes: limit), .discard),
            Step(.called(bytes: 1), .discard), Step(.called(bytes: 0), .run), Step(.answered, .answer(.handler))),
        Case(
            "announced, up to the limit of dropped bytes", Step(head(dropped), .wait),
            Step(.called(bytes: dropped), .discard), Step(.called(bytes: 0), .run),
            Step(.answered, .answer(.handler))),
        // The handler's answer takes the place of the interim answer.
        Case(
            "announced with Expect", Step(head(limit + 1, expects: true), .run), Step(.answered, .answer(.handler))),
    ])
    func `a body over the limit is dropped before the handler refuses it`(_ test: Case) {
        var state = Self.state()
        for (number, step) in test.steps.enumerated() {
            #expect(state.handle(step.event) == step.action, "step \(number), \(step.event)")
            if step.action == .run { #expect(state.isBodyTooLarge) }
        }
    }

    @Test(arguments: [
        Case("announced", Step(head(dropped + 1), .run), Step(.answered, .answer(.handler))),
        Case("announced with Expect", Step(head(dropped + 1, expects: true), .run), Step(.answered, .answer(.handler))),
        Case("an overflow", Step(head(.max), .run), Step(.suspended, .wait), Step(.called(bytes: 0), .proceed)),
    ])
    func `a body too long to drop is answered at once`(_ test: Case) {
        Self.expect(test)
    }

    @Test(arguments: [
        Case(
            "chunked", Step(head(), .buffer(0)), Step(.called(bytes: dropped), .discard),
            Step(.called(bytes: 1), .close), Step(.called(bytes: 1), .close), Step(.called(bytes: 0), .close)),
        Case(
            "buffered bytes count", Step(head(), .buffer(0)), Step(.called(bytes: limit), .reserve(limit)),
            Step(.reserved(true), .append), Step(.called(bytes: limit), .discard), Step(.called(bytes: 1), .close)),
        Case("at once", Step(head(), .buffer(0)), Step(.called(bytes: dropped + 1), .close)),
        Case(
            "over the budget", Step(head(), .buffer(0)), Step(.called(bytes: limit), .reserve(limit)),
            Step(.reserved(false), .discard), Step(.called(bytes: dropped), .close)),
    ])
    func `a body that turns out to be too long to drop closes the connection`(_ test: Case) {
        Self.expect(test)
    }

    // MARK: - Bodies and answers over the budget

    @Test func `only a body large enough to be counted needs room to begin`() {
        Self.expect(Case("", Step(Self.head(HeldBytes.counted - 1), .buffer(HeldBytes.counted - 1))))
        Self.expect(Case("", Step(Self.head(HeldBytes.counted), .checkRoom)))
    }

    @Test(arguments: [
        Case(
            "announced", Step(head(90_000), .checkRoom), Step(.room(false), .wait),
            Step(.called(bytes: 90_000), .discard), Step(.called(bytes: 0), .answer(.busy))),
        Case(
            "announced with Expect", Step(head(90_000, expects: true), .checkRoom), Step(.room(false), .answer(.busy))),
        Case(
            "while it arrives", Step(head(90_000), .checkRoom), Step(.room(true), .buffer(90_000)),
            Step(.called(bytes: 40_000, capacity: 90_000), .reserve(80_000)), Step(.reserved(false), .discard),
            Step(.called(bytes: 50_000), .discard), Step(.called(bytes: 0), .answer(.busy))),
        Case(
            "and over the limit", Step(head(), .buffer(0)), Step(.called(bytes: limit), .reserve(limit)),
            Step(.reserved(false), .discard), Step(.called(bytes: 1), .discard),
            Step(.called(bytes: 0), .answer(.busy))),
        Case(
            "when it is complete", Step(head(70_000), .checkRoom), Step(.room(true), .buffer(70_000)),
            Step(.called(bytes: 70_000, capacity: 70_000), .reserve(70_000)), Step(.reserved(true), .append),
            Step(.called(bytes: 0), .run), Step(.noRoom, .answer(.busy))),
    ])
    func `a request over the budget is answered busy, after its body unless the client waits`(_ test: Case) {
        Self.expect(test)
    }

    @Test func `an answer over the budget is replaced by busy, once`() {
        Self.expect(
            Case(
                "", Step(Self.head(), .buffer(0)), Step(.called(bytes: 0), .run), Step(.answered, .answer(.handler)),
                Step(.noRoom, .answer(.busy)), Step(.noRoom, .close)))
    }

    // MARK: - Streaming handlers

    @Test func `a streaming handler gets pieces while it reads, and answers after the body`() {
        Self.expect(
            Case(
                "", Step(Self.head(3, streamed: true), .stream), Step(.suspended, .wait),
                Step(.called(bytes: 0), .proceed), Step(.reading, .wait), Step(.called(bytes: 2), .feed),
                Step(.reading, .wait), Step(.called(bytes: 1), .feed), Step(.suspended, .wait),
                Step(.called(bytes: 0), .endBody), Step(.suspended, .wait), Step(.called(bytes: 0), .endBody),
                Step(.answered, .answer(.handler))))
    }

    @Test(arguments: [
        Case(
            "a short body is dropped first", Step(head(dropped, streamed: true), .stream),
            Step(.answered, .drain(dropped)), Step(.called(bytes: dropped), .wait),
            Step(.called(bytes: 0), .answer(.handler))),
        Case(
            "a long body is not", Step(head(dropped + 1, streamed: true), .stream),
            Step(.answered, .answer(.handler))),
        Case(
            "a body of unknown length", Step(head(streamed: true), .stream), Step(.suspended, .wait),
            Step(.called(bytes: 0), .proceed), Step(.answered, .answer(.handler))),
        Case(
            "with Expect", Step(head(dropped + 1, expects: true, streamed: true), .stream),
            Step(.answered, .answer(.handler))),
    ])
    func `a streaming handler that does not read answers ahead of the body`(_ test: Case) {
        Self.expect(test)
    }

    @Test(arguments: [
        Case(
            "a short remainder is dropped first", Step(head(streamed: true), .stream), Step(.reading, .wait),
            Step(.called(bytes: 1), .feed), Step(.answered, .drain(0)), Step(.called(bytes: 1), .wait),
            Step(.called(bytes: 0), .answer(.handler))),
        Case(
            "a long remainder is not", Step(head(streamed: true), .stream), Step(.reading, .wait),
            Step(.called(bytes: 1), .feed), Step(.answered, .drain(0)),
            Step(.called(bytes: dropped - 1), .wait), Step(.called(bytes: 1), .close)),
        Case(
            "at a long piece", Step(head(streamed: true), .stream), Step(.reading, .wait),
            Step(.called(bytes: dropped + 1), .feed), Step(.answered, .close)),
        Case(
            "its answer is over the budget", Step(head(streamed: true), .stream), Step(.reading, .wait),
            Step(.called(bytes: 0), .endBody), Step(.answered, .answer(.handler)), Step(.noRoom, .answer(.busy))),
    ])
    func `a streaming handler that answers early leaves the remainder to be dropped`(_ test: Case) {
        Self.expect(test)
    }

    // MARK: - Refusals of the head, and stopping

    @Test func `a request with ambiguous headers runs its handler without the body`() {
        for streamed in [false, true] {
            Self.expect(
                Case(
                    "", Step(Self.head(10, ambiguous: true, streamed: streamed), .run), Step(.suspended, .wait),
                    Step(.called(bytes: 0), .proceed), Step(.answered, .answer(.handler))))
        }
    }

    @Test func `a request refused by its target or headers is answered without its body or a handler`() {
        Self.expect(
            Case("", Step(.refused, .answer(.headTooLarge)), Step(Self.head(), .close), Step(.called(bytes: 0), .close))
        )
    }

    @Test func `when the server stops no handler begins`() {
        Self.expect(
            Case(
                "", Step(Self.head(), .buffer(0)), Step(.called(bytes: 0), .run), Step(.stopping, .answer(.unfinished)))
        )
        Self.expect(
            Case("", Step(Self.head(9, streamed: true), .stream), Step(.stopping, .answer(.unfinished))))
    }

    // MARK: - Random events

    @Test(arguments: [UInt64.random(in: 0...1_000_000)], [false, true])
    func `no sequence of events answers twice, buffers more than the limit or stays open`(
        _ seed: UInt64, isOutOfOrder: Bool
    ) {
        var random = SeededGenerator(seed: seed)
        for number in 0..<3_000 {
            var model = ExchangeModel(&random, isOutOfOrder: isOutOfOrder)
            model.run(&random)
            let history = model.history.suffix(20).joined(separator: ", ")
            #expect(model.defect == nil, "seed \(seed), exchange \(number): \(history)")
            if model.defect != nil { return }
        }
    }
}

/// A client, a library and a handler that do at random what they may; out of order, also what they may not.
private struct ExchangeModel {
    private(set) var history: [String] = []
    private(set) var defect: String?
    private var state: ExchangeState
    private let bodyLimit: Int
    private let isOutOfOrder: Bool
    /// Whether the client never ends its body.
    private let isEndless: Bool
    private var last = ExchangeState.Action.wait
    private var isStreamed = false
    /// Whether the decision about the body is under way.
    private var isAdmitting = false
    private var bodyHasEnded = false
    private var pieceBytes = 0
    private var bufferedBytes = 0
    private var (handlers, handlerSteps, answers) = (0, 0, 0)

    init(_ random: inout SeededGenerator, isOutOfOrder: Bool) {
        bodyLimit = [0, 10, 60_000, 100_000][random.below(4)]
        state = ExchangeState(
            bodyLimit: bodyLimit, droppedBodyLimit: [0, 20, 100_000, 200_000][random.below(4)],
            admitsBodies: random.chance(2))
        self.isOutOfOrder = isOutOfOrder
        isEndless = random.chance(4)
    }

    /// Runs an exchange to its end.
    mutating func run(_ random: inout SeededGenerator) {
        take(random.chance(50) ? .refused : .head(head(&random)))
        while defect == nil, let event = nextEvent(&random) {
            take(isOutOfOrder && random.chance(8) ? anyEvent(&random) : event)
            if history.count > 5_000 { defect = "stays open" }
        }
        if defect == nil, answers == 0, last != .close { defect = "ends without an answer" }
        take(.called(bytes: 0))
        if last != .close { defect = "goes on after its end" }
    }

    /// An event that may follow the last action; nil at the end.
    private mutating func nextEvent(_ random: inout SeededGenerator) -> ExchangeState.Event? {
        switch last {
        case .checkRoom: return .room(!random.chance(4))
        case .reserve: return .reserved(!random.chance(4))
        case .admit where random.chance(10): return .stopping
        case .admit: return decision(&random)
        case .proceed where isAdmitting: return decision(&random)
        case .run where random.chance(10): return .noRoom
        case .run where random.chance(10), .stream where random.chance(10): return .stopping
        case .run, .stream, .proceed, .feed, .endBody:
            handlerSteps += 1
            if random.chance(6) || handlerSteps > 20 { return .answered }
            return !isStreamed || last == .endBody || random.chance(3) ? .suspended : .reading
        case .answer(.handler) where random.chance(4): return .noRoom
        case .answer, .close: return nil
        case .wait, .buffer, .append, .discard, .drain:
            bodyHasEnded = bodyHasEnded || !isEndless && random.chance(8)
            return piece(bodyHasEnded ? 0 : 1 + random.below(random.chance(2) ? 3 : 40_000), &random)
        }
    }

    /// What may follow while it is decided about the body.
    private func decision(_ random: inout SeededGenerator) -> ExchangeState.Event {
        if random.chance(2) { return .suspended }
        return random.chance(4) ? .answered : .admitted(bodyLimit: [0, 10, 70_000, .max][random.below(4)])
    }

    private func anyEvent(_ random: inout SeededGenerator) -> ExchangeState.Event {
        switch random.below(11) {
        case 10: .admitted(bodyLimit: 10)
        case 0: .refused
        case 1: .head(head(&random))
        case 2: .room(random.chance(2))
        case 3: .reserved(random.chance(2))
        case 4: .answered
        case 5: .suspended
        case 6: .reading
        case 7: .noRoom
        case 8: .stopping
        default: piece(random.below(3) * random.below(100_000), &random)
        }
    }

    private func head(_ random: inout SeededGenerator) -> ExchangeState.Head {
        ExchangeState.Head(
            contentLength: [nil, 0, 5, bodyLimit, bodyLimit + 1, 70_000, 300_000, .max][random.below(8)],
            expectsContinue: random.chance(4), isAmbiguous: random.chance(20), isStreamed: random.chance(3),
            isChunked: random.chance(3))
    }

    private func piece(_ bytes: Int, _ random: inout SeededGenerator) -> ExchangeState.Event {
        .called(bytes: bytes, capacity: random.below(200_000))
    }

    private mutating func take(_ event: ExchangeState.Event) {
        if case .called(let bytes, _) = event { pieceBytes = bytes }
        let former = last
        last = state.handle(event)
        history.append("\(event): \(last)")
        switch event {
        case .admitted, .answered, .stopping: isAdmitting = false
        default: isAdmitting = isAdmitting || last == .admit
        }
        switch last {
        case .append: bufferedBytes += pieceBytes
        case .discard: bufferedBytes = 0
        case .run, .stream:
            handlers += 1
            isStreamed = last == .stream
        // It replaces the handler's, which did not fit.
        case .answer(.busy) where former == .answer(.handler): break
        case .answer: answers += 1
        default: break
        }
        if answers > 1 { defect = "answers twice" }
        if handlers > 1 { defect = "runs two handlers" }
        if bufferedBytes > bodyLimit { defect = "buffers too much" }
    }
}
