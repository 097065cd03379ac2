import Foundation

/// The records of a zone that came before their keys. A change token passes them and carries which they are, so that an app
/// gets them with a later fetch, whatever it keeps besides the token.
///
/// A few are carried by their names: each fetch looks them up once it is at the end of the feed. What has more than that is a
/// range of the feed, which each fetch goes on reading until a page has more again.
struct WaitingRecords: Codable, Hashable, Sendable {
    /// Records that are carried by their names, at most, and those that a page of the range has.
    static let limit = 200

    /// Sorted.
    private(set) var names: [String] = []
    private(set) var range: Range?

    /// A range of a zone's feed, by tokens of the service's.
    struct Range: Codable, Hashable, Sendable {
        /// Nil is the beginning of the feed.
        var start: String?
        var end: String
        /// Where reading goes on, beyond a page with more records than could be carried by name. Nil is the start.
        var next: String?
        /// The end of the last such page before `next`.
        var lastFull: String?
        /// Whether the present fetch goes on reading.
        var isBeingRead = false
    }

    var isEmpty: Bool { names.isEmpty && range == nil }

    /// Notes a batch of the feed: what it has is carried only where it lacks keys as it is now.
    mutating func note(_ changes: [RecordZoneChangeBatch.Change], from start: String?, to end: String) {
        drop(changes)
        if add(changes.waitingNames) { return }
        if range == nil { range = Range(start: start, end: end) }
        range?.end = end
    }

    /// Notes what a lookup of names has found.
    mutating func note(_ changes: [RecordZoneChangeBatch.Change]) {
        drop(changes)
        _ = add(changes.waitingNames)
    }

    /// Notes a page of the range.
    /// - Parameters:
    ///   - end: where it ends.
    ///   - isLast: whether that is the range's end.
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
            // Nothing is left behind the last full page: now those before it.
            range.end = range.lastFull ?? range.end
            (range.next, range.lastFull) = (nil, nil)
        }
        self.range = fits && isLast && self.range?.next == nil ? nil : range
    }

    /// Begins the range with the zone: what its tokens stand for is not known any more.
    mutating func forgetStart() {
        range = range.map { Range(end: $0.end) }
    }

    private mutating func drop(_ changes: [RecordZoneChangeBatch.Change]) {
        guard !names.isEmpty else { return }
        let known = Set(changes.map(\.recordID.recordName))
        names.removeAll { known.contains($0) }
    }

    /// - Returns: whether all of them can be carried.
    private mutating func add(_ waiting: [String]) -> Bool {
        if waiting.isEmpty { return true }
        let all = Set(names).union(waiting)
        guard all.count <= Self.limit else { return false }
        names = all.sorted()
        return true
    }
}

/// The records that lack keys while a fetch of a zone goes on.
struct WaitingFetch: Sendable {
    var records: WaitingRecords
    /// Those of which this fetch has told.
    private var told: Set<String> = []
    private var hasNewRange = false

    init(_ records: WaitingRecords) { self.records = records }

    /// Whether the fetch goes on once it is at the end of the feed.
    var goesOn: Bool { records.range?.isBeingRead ?? false }

    /// The names to look up at the end of the feed.
    var namesToLookUp: [String] { goesOn ? [] : records.names.filter { !told.contains($0) } }

    /// The range to read at the end of the feed.
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

// MARK: - In tokens

/// What the token of a zone that has such records says. Others are the service's as they are, as in earlier versions.
private struct CarryingToken: Codable {
    var syncToken: String
    var waiting: WaitingRecords

    init(_ syncToken: String, _ waiting: WaitingRecords) {
        self.syncToken = syncToken
        self.waiting = waiting
    }

    /// Nil for a token of the service's.
    init?(_ text: String) {
        guard text.hasPrefix("{"), let token = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else {
            return nil
        }
        self = token
    }

    var text: String {
        let encoder = JSONEncoder()
        // Sorted, so that equal tokens are equal texts.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings always encode.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? syncToken
    }
}

extension CKServerChangeToken {
    /// The token of a zone, records of which lack keys.
    convenience init(syncToken: String, waiting: WaitingRecords) {
        self.init(syncToken: waiting.isEmpty ? syncToken : CarryingToken(syncToken, waiting).text)
    }

    /// What of it is the service's.
    var servicesToken: String { CarryingToken(syncToken)?.syncToken ?? syncToken }

    /// The records before it that lacked keys.
    var waitingRecords: WaitingRecords { CarryingToken(syncToken)?.waiting ?? WaitingRecords() }
}
