/// An answer of which a client has a part: the request for the rest fails.
struct CutAnswer: Sendable {
    /// The client, and how it asks for the rest.
    struct Follower: Sendable {
        let container: String
        private let database: [String?]
        /// The continuation marker of a query, or the change tokens of a fetch.
        private let markers: Set<String>

        /// - Parameter markers: those that a request names, or that the part of an answer has.
        /// - Returns: nil without markers.
        init?(_ context: RequestContext, path: String, markers: [String?]) {
            container = context.container
            database = [
                context.environment.rawValue, context.scope.rawValue, context.account, context.clientID, path,
            ]
            self.markers = Set(markers.compactMap(\.self))
            if self.markers.isEmpty { return nil }
        }

        func isFollowed(by request: Follower) -> Bool {
            container == request.container && database == request.database && !markers.isDisjoint(with: request.markers)
        }
    }

    let follower: Follower
    let rule: FaultRule
    /// The ID of the fault in the plan; nil for one that a request itself asked for.
    let entry: Int?
}
