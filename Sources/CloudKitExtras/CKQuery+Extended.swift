public import CloudKit

extension CKQuery {
    /// This query with permission for conditions that Apple's CloudKit refuses. Not part of Apple's API.
    ///
    ///     let query = CKQuery(
    ///         recordType: "Note", predicate: NSPredicate(format: "stars > 3 OR NOT tags CONTAINS 'draft'"))
    ///     let (notes, cursor) = try await database.records(matching: query.extended)
    ///
    /// The predicate can join conditions with `OR`, negate any condition with `NOT`, and search one field for words
    /// (`title TOKENMATCHES[cdl] %@`), to a maximum depth of 24 levels. Every API that takes a query accepts the
    /// extended query: operations, the convenience methods of `CKDatabase`, and cursors. Without this property, the
    /// query is refused with `.invalidArguments`, as Apple's service refuses it. So a query that passes tests without
    /// this property works with Apple's service too.
    ///
    /// The service looks up each side of an `OR` in an index. It checks a `NOT` that no index answers on the records.
    public var extended: CKQuery { extendedCopy() }
}
