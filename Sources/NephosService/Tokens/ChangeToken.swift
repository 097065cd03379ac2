/// A client's position in a change feed, opaque to clients: the feed, and the change sequence up to which it was read.
///
/// The token of a zone names the zone's incarnation, so the token expires when the zone is deleted and created again.
/// `TokenCodec` rejects tokens of another database or store.
struct ChangeToken: Equatable {
    enum Feed: Equatable {
        case database
        /// The feed of a zone, identified by the zone's row ID.
        case zone(Int64)
    }

    var feed: Feed
    var sequence: Int64
    /// During a first fetch, the last change sequence of the feed when the fetch began; otherwise 0. The client never
    /// had the records that were deleted up to that sequence, so it needs no tombstones of them.
    var firstFetchEnd: Int64
    /// During a fetch, the last change sequence of the feed when the page was read; otherwise 0. Records that changed
    /// up to that sequence are no longer at their earlier positions.
    var seen: Int64

    /// The change sequence up to which the client knows every deletion.
    var deletionsKnown: Int64 { max(sequence, firstFetchEnd) }

    private static let version: UInt8 = 2

    init(feed: Feed, sequence: Int64, firstFetchEnd: Int64 = 0, seen: Int64 = 0) {
        self.feed = feed
        self.sequence = sequence
        self.firstFetchEnd = firstFetchEnd
        self.seen = seen
    }

    /// Whether the token contains a change sequence that the store assigned and lost in a restore from a backup.
    private func isLost(_ strings: TokenCodec) -> Bool {
        [sequence, firstFetchEnd, seen].contains(where: strings.isLost)
    }

    // MARK: Expiry

    /// Decodes a token that has not expired.
    /// - Parameters:
    ///   - last: the last change sequence in the feed.
    ///   - forgotten: the change sequence up to which the feed has purged its tombstones.
    /// - Throws: `changeTokenExpired` if `text` is no token, is a token of another feed, is older than purged
    ///   tombstones, or contains a change sequence that the store lost when it was restored from a backup.
    init(
        unexpired text: String, _ strings: TokenCodec, _ feed: Feed, last: Int64, forgotten: Int64
    ) throws(ServiceError) {
        guard let token = ChangeToken(text, strings), token.feed == feed, token.deletionsKnown >= forgotten,
            token.deletionsKnown <= last, !token.isLost(strings)
        else { throw .changeTokenExpired }
        self = token
    }

    /// Decodes the end of a fetch of several pages, or a change token that bounds a fetch.
    /// - Throws: `changeTokenExpired` if `text` is neither, or belongs to another feed.
    init(fetchEnd text: String, _ strings: TokenCodec, _ feed: Feed) throws(ServiceError) {
        let token = ChangeToken(text, strings, for: .fetchEnd) ?? ChangeToken(text, strings)
        guard let token, token.feed == feed, !token.isLost(strings) else { throw .changeTokenExpired }
        self = token
    }

    // MARK: Encoding

    func text(_ strings: TokenCodec, for purpose: TokenCodec.Purpose = .syncToken) -> String {
        strings.text(bytes, for: purpose)
    }

    /// Decodes a token; nil unless `text` is a token of that database for that purpose.
    init?(_ text: String, _ strings: TokenCodec, for purpose: TokenCodec.Purpose = .syncToken) {
        guard let bytes = strings.content(of: text, for: purpose) else { return nil }
        self.init(bytes: bytes)
    }

    /// The encoded token: the version, the kind, which says which fields follow, and the fields.
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
