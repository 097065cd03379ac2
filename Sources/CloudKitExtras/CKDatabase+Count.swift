public import CloudKit
import NephosWire

extension CKDatabase {
    /// How many records match a query, without sending them. Not part of Apple's API.
    ///
    ///     let unread = try await database.count(matching: CKQuery(recordType: "Note", predicate: isUnread))
    ///
    /// The query's order does not matter. No zone means all zones, as with `records(matching:)`. Where an index answers
    /// the whole condition its entries are counted; otherwise the records that may match are read, about 20,000 in a
    /// request, and there are as many requests as it takes. While others write, the number is right for a moment
    /// between the beginning and the end of a long count.
    /// - Throws: `CKError`, as a query does.
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
