import NephosService
import NephosWire

/// What is recorded of a request besides its entry: the errors of its items and, in `nephos dev`, the bodies.
struct RequestRecording: Sendable {
    /// A failed item of a request.
    struct FailedItem: Sendable {
        /// The name of the record, zone or subscription; nil if the error names none.
        var name: String?
        var code: ServerErrorCode
        var reason: String
    }

    /// The beginning of a body, and the size of all of it in bytes.
    struct Body: Sendable {
        /// The maximum number of bytes of a body that is recorded.
        static let limit = 64 * 1024

        var start: [UInt8]
        var size: Int

        init(_ bytes: [UInt8]) { (start, size) = (Array(bytes.prefix(Self.limit)), bytes.count) }

        init(_ parts: [JSONBytes]) {
            size = parts.reduce(0) { $0 + $1.buffer.count }
            start = []
            for part in parts { start.append(contentsOf: part.buffer.prefix(Self.limit - start.count)) }
        }
    }

    var failures: [FailedItem] = []
    var request: Body?
    var answer: Body?

    /// The approximate size of the recording in memory, in bytes.
    var size: Int {
        failures.reduce(0) { $0 + 64 + ($1.name?.utf8.count ?? 0) + $1.reason.utf8.count }
            + (request?.start.count ?? 0) + (answer?.start.count ?? 0)
    }

    var isEmpty: Bool { failures.isEmpty && request == nil && answer == nil }
}

extension RequestRecording.FailedItem {
    init(_ error: ErrorDictionary) {
        name = (error.recordName ?? error.subscriptionID ?? error.zoneID?.zoneName).map(RecentRequests.cut)
        code = error.serverErrorCode
        reason = RecentRequests.cut(error.reason)
    }
}

/// The recordings of the requests in the ring. Beyond their limit the oldest go.
struct RequestRecordings: Sendable {
    /// The maximum size of all recordings in bytes.
    static let limit = 16 * 1024 * 1024

    private var recordings: [Int: RequestRecording] = [:]
    /// The first position that may have a recording, and the position after the last.
    private var range = 0..<0
    private(set) var size = 0

    subscript(position: Int) -> RequestRecording? { recordings[position] }

    /// Adds the recording of a request.
    /// - Parameter position: a position after those of all other recordings.
    mutating func add(_ recording: RequestRecording, at position: Int) {
        let added = recording.size
        guard added <= Self.limit else { return }
        recordings[position] = recording
        range = (recordings.count == 1 ? position : range.lowerBound)..<position + 1
        size += added
        while size > Self.limit { remove(before: range.lowerBound + 1) }
    }

    mutating func remove(before position: Int) {
        while range.lowerBound < min(position, range.upperBound) {
            size -= recordings.removeValue(forKey: range.lowerBound)?.size ?? 0
            range = range.lowerBound + 1..<range.upperBound
        }
    }
}
