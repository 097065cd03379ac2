import NephosStorage

/// Measures the stages of one request.
package struct RequestTiming: Sendable {
    private let times: RequestTimes

    /// - Parameters:
    ///   - client: the client's network address; empty if unknown.
    ///   - requestID: the ID by which the log has the request's failures; nil for none.
    package init(client: [UInt8] = [], requestID: String? = nil) {
        times = RequestTimes(client: client, requestID: requestID)
    }

    /// Runs a request and measures its stages.
    package func measure<Answer: Sendable>(_ body: () async -> Answer) async -> Answer {
        await RequestTimes.$current.withValue(times) { await body() }
    }

    /// The durations of the stages until now.
    package var stages: StageDurations { StageDurations(times.nanoseconds()) }

    /// Runs `body` while the request waits for its peer or for an event. This time does not count towards a slow
    /// request.
    package static func waiting<Answer>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Answer
    ) async rethrows -> Answer {
        RequestTimes.current?.enter(.waiting)
        defer { RequestTimes.current?.enter(.service) }
        return try await body()
    }

    /// Runs `body`, which encodes the response to the request.
    package static func encoding<Answer>(_ body: () -> Answer) -> Answer {
        RequestTimes.current?.enter(.encoding)
        defer { RequestTimes.current?.enter(.service) }
        return body()
    }
}

/// The time that a request spent in each stage.
package struct StageDurations: Hashable, Sendable {
    /// The number of nanoseconds above which a request is slow, excluding waits for its peer or for an event.
    package static let slow: Int64 = 1_000_000_000

    private static let stages = RequestTimes.Stage.allCases.filter { $0 != .waiting }

    /// The names of the stages, without the waits for a peer or an event.
    package static let names = stages.map { "\($0)" }

    /// The duration of each stage, in the order of `names`.
    package private(set) var nanoseconds: [Int64]

    package init(nanoseconds: [Int64]? = nil) {
        self.nanoseconds = nanoseconds ?? Self.stages.map { _ in 0 }
    }

    fileprivate init(_ nanoseconds: [Int64]) {
        self.init(nanoseconds: Self.stages.map { nanoseconds[$0.rawValue] })
    }

    package mutating func add(_ other: StageDurations) {
        for index in nanoseconds.indices { nanoseconds[index] += other.nanoseconds[index] }
    }

    package var isSlow: Bool { nanoseconds.reduce(0, +) > Self.slow }

    /// The stages that took a millisecond or more, rounded, longest first.
    package var longest: [(name: String, milliseconds: Int64)] {
        zip(Self.names, nanoseconds).map { ($0, ($1 + 500_000) / 1_000_000) }
            .filter { $0.1 > 0 }
            .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }

    /// The stage that took most of a slow request's time; nil for a request that is not slow.
    package var slowest: String? { isSlow ? longest.first?.name : nil }
}
