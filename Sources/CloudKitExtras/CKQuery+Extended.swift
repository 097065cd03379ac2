public import CloudKit

extension CKQuery {
    /// This query, allowed to ask more than Apple's CloudKit takes. Not part of Apple's API.
    ///
    ///     let query = CKQuery(
    ///         recordType: "Note", predicate: NSPredicate(format: "stars > 3 OR NOT tags CONTAINS 'draft'"))
    ///     let (notes, cursor) = try await database.records(matching: query.extended)
    ///
    /// Its predicate may join conditions by `OR`, negate anything with `NOT`, and search one field for words
    /// (`title TOKENMATCHES[cdl] %@`), to a depth of 24 levels. Everything that takes a query takes it: operations, the
    /// conveniences of `CKDatabase`, and cursors. The same query without this is refused with `.invalidArguments`, as
    /// Apple's is, so what is tested without it holds there too.
    ///
    /// Each side of an `OR` is looked up in an index; a `NOT` that no index answers is checked on records.
    public var extended: CKQuery { extendedCopy() }
}
