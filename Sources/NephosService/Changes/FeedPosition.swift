import NephosStorage

/// Where a page of a feed begins, and where the fetch that it belongs to ends.
///
/// A fetch of several pages ends where the feed ended when it began, if its client says so by sending that end with each
/// next page. So what changes while it goes on comes once, in the next fetch, and not a second time in this one.
struct FeedPosition {
    let feed: ChangeToken.Feed
    let start: Int64
    /// What was deleted up to here is no news.
    let deletionsKnown: Int64
    /// Whether nothing was fetched before.
    let isFirstFetch: Bool
    /// The change sequence after which nothing belongs to the fetch.
    let end: Int64
    /// Up to where the feed was complete when the page was read.
    private let last: Int64

    /// - Parameters:
    ///   - token: where the last page ended; nil is the beginning.
    ///   - deletionsSince: a token from before a client that fetches from the beginning first wrote to the feed itself: what was
    ///     deleted since may be its own.
    ///   - fetchEnd: what the fetch's last page gave as its end; nil for the first page.
    ///   - last: up to where the feed is complete.
    ///   - horizon: the store's.
    ///   - forgotten: the change sequence up to which the feed forgot deletions.
    /// - Throws: `changeTokenExpired` for a token that does not fit the feed.
    init(
        _ feed: ChangeToken.Feed, token: String?, deletionsSince: String? = nil, fetchEnd: String?,
        _ strings: TokenCodec, last: Int64, horizon: Int64 = .max, forgotten: Int64
    ) throws(ServiceError) {
        self.feed = feed
        // The end is past what was forgotten, so that the token of a finished fetch has not expired.
        let last = max(last, forgotten)
        self.last = last
        if let position = token ?? deletionsSince {
            // Below the horizon a token may stand where a record was that has changed since, above it.
            let reach = horizon == .max ? last : max(last, horizon - 1)
            let known = try ChangeToken(unexpired: position, strings, feed, last: reach, forgotten: forgotten)
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

    /// The token of a client that has read up to `position`.
    func token(at position: Int64, _ strings: TokenCodec) -> String {
        let sequence = position >= end ? max(position, end) : position
        return ChangeToken(
            feed: feed, sequence: sequence,
            firstFetchEnd: isFirstFetch && position < deletionsKnown ? deletionsKnown : 0,
            seen: last > sequence ? last : 0
        ).text(strings)
    }

    /// The fetch's end, for its next page; nil if it ends with this one.
    func fetchEnd(after position: Int64, _ strings: TokenCodec) -> String? {
        position < end ? ChangeToken(feed: feed, sequence: end).text(strings, for: .fetchEnd) : nil
    }
}
