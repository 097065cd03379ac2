import NephosStorage

/// The start of a page of a feed, and the end of the fetch to which the page belongs.
///
/// A fetch of several pages ends where the feed ended when the fetch began, if the client sends that end with each next
/// page. So a concurrent change is returned once, in the next fetch, and not also in this one.
struct FeedPosition {
    let feed: ChangeToken.Feed
    let start: Int64
    /// The change sequence up to which the client needs no tombstones.
    let deletionsKnown: Int64
    /// Whether this fetch started at the beginning of the feed.
    let isFirstFetch: Bool
    /// The last change sequence of the fetch.
    let end: Int64
    /// The change sequence up to which the feed was complete when the page was read.
    private let last: Int64

    /// - Parameters:
    ///   - token: the end of the last page; nil for the beginning of the feed.
    ///   - deletionsSince: for a client that fetches from the beginning, a token from before the client's first write
    ///     to the feed; otherwise nil. Records that were deleted since then may be the client's own, so it needs their
    ///     tombstones.
    ///   - fetchEnd: the end of the fetch, which the last page returned; nil for the first page.
    ///   - last: the change sequence up to which the feed is complete.
    ///   - forgotten: the change sequence up to which the feed has purged its tombstones.
    /// - Throws: `changeTokenExpired` for a token that does not fit the feed.
    init(
        _ feed: ChangeToken.Feed, token: String?, deletionsSince: String? = nil, fetchEnd: String?,
        _ strings: TokenCodec, last: Int64, forgotten: Int64
    ) throws(ServiceError) {
        self.feed = feed
        // The end of the feed is not below `forgotten`, so the token of a finished fetch has not expired.
        let last = max(last, forgotten)
        self.last = last
        if let position = token ?? deletionsSince {
            let known = try ChangeToken(unexpired: position, strings, feed, last: last, forgotten: forgotten)
            let isBeginning = token == nil
            start = isBeginning ? 0 : known.sequence
            deletionsKnown = known.deletionsKnown
            isFirstFetch = isBeginning || known.firstFetchEnd > 0
        } else {
            start = 0
            deletionsKnown = last
            isFirstFetch = true
        }
        if let fetchEnd {
            let known = try ChangeToken(fetchEnd: fetchEnd, strings, feed)
            end = max(start, min(last, known.sequence))
        } else {
            end = max(start, last)
        }
    }

    /// The token of a client that has read the feed up to `position`.
    func token(at position: Int64, _ strings: TokenCodec) -> String {
        let sequence = position >= end ? max(position, end) : position
        return ChangeToken(
            feed: feed, sequence: sequence,
            firstFetchEnd: isFirstFetch && position < deletionsKnown ? deletionsKnown : 0,
            seen: last > sequence ? last : 0
        ).text(strings)
    }

    /// The end of the fetch, which the client sends with the next page; nil if the fetch ends with this page.
    func fetchEnd(after position: Int64, _ strings: TokenCodec) -> String? {
        position < end ? ChangeToken(feed: feed, sequence: end).text(strings, for: .fetchEnd) : nil
    }
}
