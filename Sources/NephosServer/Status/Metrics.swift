import FoundationEssentials
import NephosService
import NephosWire
import Synchronization

/// The metrics of `GET /metrics`, in the Prometheus text format.
enum Metric: String, CaseIterable {
    /// The number of answers, by route and HTTP status.
    case requests = "nephos_http_requests_total"
    /// The number of requests that were refused as a whole, by server error code. Errors of single items are not
    /// counted.
    case errors = "nephos_http_errors_total"
    /// The number of complete requests that are not answered yet, including this one.
    case inFlight = "nephos_http_requests_in_flight"
    /// The time in seconds from the arrival of a request to its answer, by route.
    case duration = "nephos_http_request_duration_seconds"
    /// The time in seconds that requests spent in each stage, except waits for a peer or an event.
    case stages = "nephos_http_stage_seconds_total"
    /// The number of requests that took more than a second, by their longest stage.
    case slow = "nephos_http_slow_requests_total"
    /// The time in seconds that requests waited for PostgreSQL's connections and locks.
    case storageWaits = "nephos_postgresql_wait_seconds_total"
    /// The number of writes that PostgreSQL ended because they waited for each other.
    case deadlocks = "nephos_postgresql_deadlocks_total"
    /// Whether the last check of readiness found that writes go through: 1 or 0.
    case ready = "nephos_ready"
    /// The time at which the process started, in seconds since 1970.
    case startTime = "process_start_time_seconds"

    var type: String {
        switch self {
        case .requests, .errors, .stages, .slow, .storageWaits, .deadlocks: "counter"
        case .inFlight, .ready, .startTime: "gauge"
        case .duration: "histogram"
        }
    }

    var help: String {
        switch self {
        case .requests: "Answers, by route and HTTP status."
        case .errors: "Requests refused as a whole, by server error code."
        case .inFlight: "Requests being answered."
        case .duration: "Seconds from a request's arrival to its answer, by route."
        case .stages: "Seconds that requests were in each stage."
        case .slow: "Requests that took more than a second, by their longest stage."
        case .storageWaits: "Seconds that requests waited for a connection, an owner's other writes, or a store's lock."
        case .deadlocks: "Writes that PostgreSQL ended because they waited for each other."
        case .ready: "1 if writes go through, as GET /ready says; 0 otherwise."
        case .startTime: "When the process began, in seconds since 1970."
        }
    }
}

/// The counters of the server. Their labels come from the route table, so the number of labels is bounded.
final class Metrics: Sendable {
    /// The upper bounds of the buckets in the duration histogram, in seconds.
    static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// The stages that are part of `storage` over PostgreSQL.
    private static let stagesOfSQLite: Set = ["queue", "commit", "checkpoint"]

    private struct Durations {
        /// The counts of the buckets: one per bound, and one for longer durations.
        var buckets = [UInt64](repeating: 0, count: Metrics.bounds.count + 1)
        var sum = 0.0
        var count: UInt64 = 0
    }

    private struct RouteCounts {
        var requests: [Int: UInt64] = [:]
        var durations = Durations()

        mutating func count(_ status: Int, _ seconds: Double) {
            requests[status, default: 0] += 1
            durations.buckets[Metrics.bounds.firstIndex { seconds <= $0 } ?? Metrics.bounds.count] += 1
            durations.sum += seconds
            durations.count += 1
        }
    }

    private struct Counts {
        var routes: [String: RouteCounts] = [:]
        var errors: [ServerErrorCode: UInt64] = [:]
        var stages = StageDurations()
        var slow: [String: UInt64] = [:]
    }

    private let counts = Mutex(Counts())
    private let inFlight = Atomic(0)
    private let startTime: Double

    init() {
        startTime = (Date().timeIntervalSince1970 * 1000).rounded(.down) / 1000
    }

    func began() {
        inFlight.wrappingAdd(1, ordering: .relaxed)
    }

    func answered(
        route: String, status: Int, error: ServerErrorCode?, after duration: Duration, _ stages: StageDurations
    ) {
        inFlight.wrappingSubtract(1, ordering: .relaxed)
        let (whole, attoseconds) = duration.components
        let seconds = Double(whole) + Double(attoseconds) * 1e-18
        counts.withLock { counts in
            counts.routes[route, default: RouteCounts()].count(status, seconds)
            if let error { counts.errors[error, default: 0] += 1 }
            counts.stages.add(stages)
            if let stage = stages.slowest { counts.slow[stage, default: 0] += 1 }
        }
    }

    typealias Waits = (times: [(name: String, seconds: Double)], deadlocks: Int)

    /// - Parameters:
    ///   - waits: those for PostgreSQL; nil for other storage.
    ///   - isReady: whether writes go through.
    func text(_ waits: Waits?, isReady: Bool = true) -> String {
        let counts = self.counts.withLock(\.self)
        return Metric.allCases.filter { waits != nil || $0 != .storageWaits && $0 != .deadlocks }.map { metric in
            let header = "# HELP \(metric.rawValue) \(metric.help)\n# TYPE \(metric.rawValue) \(metric.type)\n"
            return header + samples(of: metric, counts, waits, isReady).map { metric.rawValue + $0 + "\n" }.joined()
        }.joined()
    }

    /// Returns the sample lines of a metric, without its name.
    private func samples(of metric: Metric, _ counts: Counts, _ waits: Waits?, _ isReady: Bool) -> [String] {
        switch metric {
        case .requests:
            return counts.routes.sorted { $0.key < $1.key }.flatMap { route, counts in
                counts.requests.sorted { $0.key < $1.key }
                    .map { "{route=\"\(route)\",status=\"\($0.key)\"} \($0.value)" }
            }
        case .errors:
            return ServerErrorCode.allCases.map { "{code=\"\($0.rawValue)\"} \(counts.errors[$0] ?? 0)" }
        case .inFlight:
            return [" \(inFlight.load(ordering: .relaxed))"]
        case .duration:
            return counts.routes.sorted { $0.key < $1.key }
                .flatMap { Self.histogram(route: $0.key, $0.value.durations) }
        case .stages:
            return zip(StageDurations.names, counts.stages.nanoseconds)
                .filter { waits == nil || !Self.stagesOfSQLite.contains($0.0) }
                .map { "{stage=\"\($0)\"} \(Double($1) / 1e9)" }
        case .slow:
            return StageDurations.names.filter { waits == nil || !Self.stagesOfSQLite.contains($0) }.map {
                "{stage=\"\($0)\"} \(counts.slow[$0] ?? 0)"
            }
        case .storageWaits:
            return (waits?.times ?? []).map { "{for=\"\($0.name)\"} \($0.seconds)" }
        case .deadlocks:
            return [" \(waits?.deadlocks ?? 0)"]
        case .ready:
            return [" \(isReady ? 1 : 0)"]
        case .startTime:
            return [" \(startTime)"]
        }
    }

    private static func histogram(route: String, _ durations: Durations) -> [String] {
        var total: UInt64 = 0
        let labels = bounds.map { "\($0)" } + ["+Inf"]
        let buckets = zip(labels, durations.buckets).map { label, count in
            total += count
            return "_bucket{route=\"\(route)\",le=\"\(label)\"} \(total)"
        }
        return buckets + ["_sum{route=\"\(route)\"} \(durations.sum)", "_count{route=\"\(route)\"} \(durations.count)"]
    }
}
