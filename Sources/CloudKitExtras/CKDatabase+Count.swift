public import CloudKit
import NephosWire

extension CKDatabase {
    /// Returns the number of records that match a query, without fetching them. Not part of Apple's API.
    ///
    ///     let unread = try await database.count(matching: CKQuery(recordType: "Note", predicate: isUnread))
    ///
    /// The query's sort order is ignored. If `zoneID` is nil, the query covers all zones, as with `records(matching:)`.
    /// If an index answers the whole condition, the service counts index entries. Otherwise it reads the records that
    /// can match, about 20,000 per request, in as many requests as necessary. If the count takes several requests
    /// during concurrent writes, the number is correct for a moment between its beginning and its end.
    /// - Throws: `CKError`, with the errors of a query.
    public func count(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil) async throws -> Int {
        var total = 0
        var marker: String?
        repeat {
            let answer = try await answer(query, inZoneWith: zoneID) { [marker] request in
                request.wantsCount = true
                request.continuationMarker = marker
            }
            guard let count = answer.count else {
                throw CKError(
                    .internalError,
                    userInfo: [
                        NSLocalizedDescriptionKey: "The service does not count: it is no Nephos, or an older one."
                    ])
            }
            total += count
            marker = answer.continuationMarker
        } while marker != nil
        return total
    }
}
