import NephosStorage

/// Measures where the time of one request goes.
package struct RequestTiming: Sendable {
    private let times = RequestTimes()

    package init() {}

    /// Runs the request.
    package func measure<Answer: Sendable>(_ body: () async -> Answer) async -> Answer {
        await RequestTimes.$current.withValue(times) { await body() }
    }

    /// The stages until now.
    package var stages: StageDurations { StageDurations(times.nanoseconds()) }

    /// The request being answered waits for its peer, or for an event, which makes it no slow one.
    package static func waiting<Answer>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Answer
    ) async rethrows -> Answer {
        RequestTimes.current?.enter(.waiting)
        defer { RequestTimes.current?.enter(.service) }
        return try await body()
    }

    /// The answer to the request is encoded.
    package static func encoding<Answer>(_ body: () -> Answer) -> Answer {
        RequestTimes.current?.enter(.encoding)
        defer { RequestTimes.current?.enter(.service) }
        return body()
    }
}

/// How long a request was in each of its stages.
package struct StageDurations: Hashable, Sendable {
    /// From here on a request is slow, in nanoseconds. What it waits for its peer or for an event does not count.
    package static let slow: Int64 = 1_000_000_000

    private static let stages = RequestTimes.Stage.allCases.filter { $0 != .waiting }

    /// The stages' names. What a request waits for its peer is none.
    package static let names = stages.map { "\($0)" }

    /// In the order of `names`.
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

    /// The stages that took a millisecond, longest first.
    package var longest: [(name: String, milliseconds: Int64)] {
        zip(Self.names, nanoseconds).map { ($0, ($1 + 500_000) / 1_000_000) }
            .filter { $0.1 > 0 }
            .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }

    /// Where most of a slow request's time went.
    package var slowest: String? { isSlow ? longest.first?.name : nil }
}
