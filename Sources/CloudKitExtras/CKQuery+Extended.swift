public import CloudKit

extension CKQuery {
    /// This query with permission for conditions that Apple's CloudKit refuses. Not part of Apple's API.
    ///
    ///     let query = CKQuery(
    ///         recordType: "Note", predicate: NSPredicate(format: "stars > 3 OR NOT tags CONTAINS 'draft'"))
    ///     let (notes, cursor) = try await database.records(matching: query.extended)
    ///
    /// The predicate may join conditions with `OR`, negate any condition with `NOT`, and search one field for words
    /// (`title TOKENMATCHES[cdl] %@`), to a depth of 24 levels. Every API that takes a query takes it: operations, the
    /// conveniences of `CKDatabase`, and cursors. The same query without this property is refused with
    /// `.invalidArguments`, as by Apple's service, so a query that passes tests without it works there too.
    ///
    /// Each side of an `OR` is looked up in an index; a `NOT` that no index answers is checked on records.
    public var extended: CKQuery { extendedCopy() }
}
