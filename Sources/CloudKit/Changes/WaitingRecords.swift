import Foundation

/// The records of a zone that arrived before their keys. The change token moves past the records and contains their
/// identity. So an app gets them in a later fetch even if it stores only the token.
///
/// The token contains the names of a few such records. Each fetch looks them up at the end of the feed. Beyond the
/// limit, the token contains a range of the feed. Each fetch continues to read the range until a page exceeds the limit
/// again.
struct WaitingRecords: Codable, Hashable, Sendable {
    /// The maximum number of names per token, and the maximum number of waiting records per page of the range.
    static let limit = 200

    /// The names of the waiting records, sorted.
    private(set) var names: [String] = []
    private(set) var range: Range?

    /// A range in the change feed of a zone, between two tokens of the service.
    struct Range: Codable, Hashable, Sendable {
        /// The start of the range; nil for the beginning of the feed.
        var start: String?
        var end: String
        /// The position at which reading continues, after a page with too many waiting records; nil for the start of
        /// the range.
        var next: String?
        /// The end of the last page before `next` that exceeded the limit; nil if no page did.
        var lastFull: String?
        /// Whether the current fetch continues to read the range.
        var isBeingRead = false
    }

    var isEmpty: Bool { names.isEmpty && range == nil }

    /// Updates the waiting records from a batch of the feed. A record in the batch stays waiting only if its current
    /// version lacks a key.
    mutating func note(_ changes: [RecordZoneChangeBatch.Change], from start: String?, to end: String) {
        drop(changes)
        if add(changes.waitingNames) { return }
        if range == nil { range = Range(start: start, end: end) }
        range?.end = end
    }

    /// Updates the waiting records from the results of a lookup by name.
    mutating func note(_ changes: [RecordZoneChangeBatch.Change]) {
        drop(changes)
        _ = add(changes.waitingNames)
    }

    /// Updates the waiting records from a page of the range.
    /// - Parameters:
    ///   - end: the token at the end of the page.
    ///   - isLast: whether the page ends the range.
    mutating func note(page changes: [RecordZoneChangeBatch.Change], to end: String, isLast: Bool) {
        guard var range else { return }
        drop(changes)
        let fits = add(changes.waitingNames)
        range.isBeingRead = fits
        switch (fits, range.next) {
        case (false, _):
            range.next = isLast ? nil : end
            range.lastFull = end
        case (true, nil): range.start = end
        case (true, .some) where !isLast: range.next = end
        case (true, .some):
            // The part of the range after the last full page contains no waiting records, so the range ends there.
            range.end = range.lastFull ?? range.end
            (range.next, range.lastFull) = (nil, nil)
        }
        self.range = fits && isLast && self.range?.next == nil ? nil : range
    }

    /// Extends the range to the beginning of the feed, because the position of its start token is unknown.
    mutating func forgetStart() {
        range = range.map { Range(end: $0.end) }
    }

    private mutating func drop(_ changes: [RecordZoneChangeBatch.Change]) {
        guard !names.isEmpty else { return }
        let known = Set(changes.map(\.recordID.recordName))
        names.removeAll { known.contains($0) }
    }

    /// - Returns: whether all names fit within the limit.
    private mutating func add(_ waiting: [String]) -> Bool {
        if waiting.isEmpty { return true }
        let all = Set(names).union(waiting)
        guard all.count <= Self.limit else { return false }
        names = all.sorted()
        return true
    }
}

/// The waiting records of a zone during a fetch.
struct WaitingFetch: Sendable {
    var records: WaitingRecords
    /// The names of the records that this fetch has already reported.
    private var told: Set<String> = []
    private var hasNewRange = false

    init(_ records: WaitingRecords) { self.records = records }

    /// Whether the fetch continues after the end of the feed.
    var goesOn: Bool { records.range?.isBeingRead ?? false }

    /// The names to look up at the end of the feed.
    var namesToLookUp: [String] { goesOn ? [] : records.names.filter { !told.contains($0) } }

    /// The range to read at the end of the feed; nil for none.
    var rangeToRead: WaitingRecords.Range? { hasNewRange ? nil : records.range }

    mutating func note(_ changes: [RecordZoneChangeBatch.Change], from start: String?, to end: String) {
        let hadRange = records.range != nil
        records.note(changes, from: start, to: end)
        told.formUnion(Set(changes.waitingNames).intersection(records.names))
        if !hadRange, records.range != nil { hasNewRange = true }
    }
}

extension [RecordZoneChangeBatch.Change] {
    fileprivate var waitingNames: [String] {
        compactMap { if case .waiting(let recordID, _) = $0 { recordID.recordName } else { nil } }
    }
}

// MARK: - Encoding in tokens

/// A token of a zone with waiting records. A token without waiting records is the service's own, as in earlier versions
/// of this library.
private struct CarryingToken: Codable {
    var syncToken: String
    var waiting: WaitingRecords

    init(_ syncToken: String, _ waiting: WaitingRecords) {
        self.syncToken = syncToken
        self.waiting = waiting
    }

    /// Nil if the text is a token of the service.
    init?(_ text: String) {
        guard text.hasPrefix("{"), let token = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else {
            return nil
        }
        self = token
    }

    var text: String {
        let encoder = JSONEncoder()
        // Sorted keys make equal tokens encode to equal texts.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? syncToken
    }
}

extension CKServerChangeToken {
    /// A token of a zone with waiting records.
    convenience init(syncToken: String, waiting: WaitingRecords) {
        self.init(syncToken: waiting.isEmpty ? syncToken : CarryingToken(syncToken, waiting).text)
    }

    /// The service's part of the token.
    var servicesToken: String { CarryingToken(syncToken)?.syncToken ?? syncToken }

    /// The records before the token's position whose keys were missing.
    var waitingRecords: WaitingRecords { CarryingToken(syncToken)?.waiting ?? WaitingRecords() }
}
