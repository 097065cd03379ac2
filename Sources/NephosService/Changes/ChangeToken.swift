/// A position in a change feed, opaque to clients: which feed, and the change sequence up to which it was read.
///
/// A zone's token names the zone's incarnation, so one of a zone that was deleted and made again no longer fits.
/// `TokenCodec` sees to it that one of another database or another store does not either.
struct ChangeToken: Equatable {
    enum Feed: Equatable {
        case database
        /// By the id of its row.
        case zone(Int64)
    }

    var feed: Feed
    var sequence: Int64
    /// While a first fetch goes on, the change sequence that was the last when it began: what was deleted up to there is
    /// no news to a client that never had it. 0 otherwise.
    var firstFetchEnd: Int64
    /// While a fetch goes on, the last change sequence in the feed when its page was read: what has changed up to there is
    /// not where it was before. 0 otherwise.
    var seen: Int64

    /// What is known of deletions: of those up to here nothing is missing.
    var deletionsKnown: Int64 { max(sequence, firstFetchEnd) }

    private static let version: UInt8 = 2

    init(feed: Feed, sequence: Int64, firstFetchEnd: Int64 = 0, seen: Int64 = 0) {
        self.feed = feed
        self.sequence = sequence
        self.firstFetchEnd = firstFetchEnd
        self.seen = seen
    }

    /// Whether it was given in a time of which the store has lost everything.
    private func isLost(_ strings: TokenCodec) -> Bool {
        [sequence, firstFetchEnd, seen].contains(where: strings.isLost)
    }

    // MARK: Expiry

    /// The token that `text` holds, which has not expired.
    /// - Parameters:
    ///   - last: the last change sequence in the feed.
    ///   - forgotten: the change sequence up to which the feed has purged its tombstones.
    /// - Throws: `changeTokenExpired` for what is no token, for one of another feed, for one from before the tombstones
    ///   that were purged, and for one from when there were changes that the store does not have: it was restored from a
    ///   backup.
    init(
        unexpired text: String, _ strings: TokenCodec, _ feed: Feed, last: Int64, forgotten: Int64
    ) throws(ServiceError) {
        guard let token = ChangeToken(text, strings), token.feed == feed, token.deletionsKnown >= forgotten,
            token.deletionsKnown <= last, !token.isLost(strings)
        else { throw .changeTokenExpired }
        self = token
    }

    /// The end of a fetch of several pages, or a token that is not to be passed.
    /// - Throws: `changeTokenExpired` for what is neither, and for one of another feed.
    init(fetchEnd text: String, _ strings: TokenCodec, _ feed: Feed) throws(ServiceError) {
        let token = ChangeToken(text, strings, for: .fetchEnd) ?? ChangeToken(text, strings)
        guard let token, token.feed == feed, !token.isLost(strings) else { throw .changeTokenExpired }
        self = token
    }

    // MARK: As text

    func text(_ strings: TokenCodec, for purpose: TokenCodec.Purpose = .syncToken) -> String {
        strings.text(bytes, for: purpose)
    }

    /// Nil for what is no token of that database's, for that purpose.
    init?(_ text: String, _ strings: TokenCodec, for purpose: TokenCodec.Purpose = .syncToken) {
        guard let bytes = strings.content(of: text, for: purpose) else { return nil }
        self.init(bytes: bytes)
    }

    /// Its version, which numbers follow, and the numbers.
    var bytes: [UInt8] {
        var numbers = [sequence]
        var kind: UInt8 = 0
        if case .zone(let id) = feed {
            numbers.insert(id, at: 0)
            kind = 1
        }
        if firstFetchEnd != 0 {
            numbers.append(firstFetchEnd)
            kind += 2
        }
        if seen != 0 {
            numbers.append(seen)
            kind += 4
        }
        return numbers.reduce(into: [Self.version, kind]) { bytes, number in
            withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        }
    }

    init?(bytes: [UInt8]) {
        guard bytes.count >= 2, bytes[0] == Self.version, bytes.count % 8 == 2 else { return nil }
        let numbers = stride(from: 2, to: bytes.count, by: 8).map { start in
            bytes[start..<start + 8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
        guard numbers.allSatisfy({ $0 >= 0 }) else { return nil }
        let kind = bytes[1]
        guard kind < 8, numbers.count == 1 + kind.nonzeroBitCount else { return nil }
        var rest = numbers[...]
        let feed = kind & 1 == 0 ? Feed.database : .zone(rest.removeFirst())
        let sequence = rest.removeFirst()
        let firstFetchEnd = kind & 2 == 0 ? 0 : rest.removeFirst()
        self.init(feed: feed, sequence: sequence, firstFetchEnd: firstFetchEnd, seen: rest.first ?? 0)
    }
}
