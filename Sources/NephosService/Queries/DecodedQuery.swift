package import NephosWire

/// A request of `records/query`, which is decoded once for all requests with the same body.
package final class DecodedQuery: Sendable {
    package let request: QueryRecordsRequest
    /// The cache key: the query and its zones as sent, the default zone as none, without the page.
    let text: QueryBytes

    package init(_ request: QueryRecordsRequest) {
        self.request = request
        // A client may name the default zone for one page alone.
        let zoneID = request.zoneID == .defaultZone ? nil : request.zoneID
        var query = QueryRecordsRequest(query: request.query, zoneID: zoneID, zoneWide: request.zoneWide)
        query.wantsCount = request.wantsCount
        text = QueryBytes(query.encoded())
    }
}

/// The decoded-request cache, keyed by request body: decoding a short query takes as long as finding ten records.
/// Requests for later pages are unique, so they are not cached.
final class DecodedQueries: Sendable {
    private let cache = QueryCache<QueryBytes, DecodedQuery>(capacity: Limits.queryCacheSize)

    func query(decoding body: [UInt8]) throws(WireError) -> DecodedQuery {
        let key = QueryBytes(body)
        if let query = cache.value(for: key) { return query }
        let query = DecodedQuery(try QueryRecordsRequest(decoding: body))
        if query.request.continuationMarker == nil {
            cache.insert(query, for: key, cost: 512 + 3 * body.count + 64 * key.partCount)
        }
        return query
    }
}
