/// The request of `queries/explain`, one of Nephos' own routes: how a query is answered.
package struct ExplainQueryRequest: Hashable, Sendable {
    /// `public`, `private` or `shared`.
    package var database: String
    /// The account that queries; nil for the public database without one.
    package var account: String?
    /// The request of `records/query`.
    package var request: QueryRecordsRequest

    package init(database: String, account: String?, request: QueryRecordsRequest) {
        (self.database, self.account, self.request) = (database, account, request)
    }
}

extension ExplainQueryRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("database", \.database, .string), .optional("account", \.account, .string),
        .required("request", \.request, .message("a request of records/query")))
}
