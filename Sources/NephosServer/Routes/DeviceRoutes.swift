import NephosService

/// The route about clients: who asked last, how far each is behind, subscriptions, background jobs, limits.
enum DeviceRoutes {
    static let path = "/nephos/devices/list"
    /// The maximum number of clients in an answer.
    private static let limit = 100

    static let table: [Route] = [
        Route([.post], path, access: .view) { routed throws(Refusal) in
            routed.recent.watch(at: routed.service.environment.now())
            let place = try AdministrationPath(routed.target.components)
            var context = RequestContext(
                container: place.container, environment: place.environment, scope: .public, account: nil,
                requestID: routed.requestID)
            context.isContainerKnown = routed.access.installation != nil
            return try await routed.answer { [context] () async throws(ServiceError) in
                try await answer(routed, context)
            }
        }
    ]

    private struct Answer: Encodable {
        struct Zone: Encodable {
            var zoneName: String
            /// The number of changes that the client has not got; nil if its token has expired.
            var behind: Int?
        }
        struct Client: Encodable {
            var account: String
            var client: String
            var time: Int64
            var endpoint: String
            var zones: [Zone]
        }
        struct Limit: Encodable {
            var name: String
            var value: Int64
        }

        var clients: [Client]
        var clientCount: Int
        /// The number from which on changes are not counted.
        var behindLimit = 1000
        var kept: DeviceOverview
        var limits: [Limit]
    }

    private static func answer(_ routed: RoutedRequest, _ context: RequestContext) async throws(ServiceError) -> Answer
    {
        let (clients, count) = routed.clients.clients(of: context.container, context.environment, limit: limit)
        let positions = clients.flatMap { key, entry in
            entry.tokens.map { ClientPosition(account: key.account, zoneName: $0.zoneName, syncToken: $0.token) }
        }
        let behind = positions.isEmpty ? [] : try await routed.service.changesBehind(positions, context)
        var rest = zip(positions, behind).map { Answer.Zone(zoneName: $0.zoneName, behind: $1) }[...]
        let answered = clients.map { key, entry in
            defer { rest = rest.dropFirst(entry.tokens.count) }
            return Answer.Client(
                account: key.account, client: key.client, time: entry.time, endpoint: entry.endpoint,
                zones: Array(rest.prefix(entry.tokens.count)))
        }
        return Answer(
            clients: answered, clientCount: count, kept: try await routed.service.listDevices(context),
            limits: limits + routed.service.quotas.map { Answer.Limit(name: $0.name, value: $0.bytes) })
    }

    /// Limits that apps meet, as `Limits` has them.
    private static let limits: [Answer.Limit] = [
        .init(name: "operations in a request", value: Int64(Limits.operationsPerRequest)),
        .init(name: "bytes of data in a record", value: Int64(Limits.recordSize)),
        .init(name: "bytes of data in a request", value: Int64(Limits.requestSize)),
        .init(name: "characters of a record's name", value: Int64(Limits.recordNameLength)),
        .init(name: "fields of a record type", value: Int64(Limits.fieldsPerType)),
        .init(name: "record types of a container", value: Int64(Limits.typesPerContainer)),
        .init(name: "references with DELETE_SELF to a record", value: Int64(Limits.deleteSelfSources)),
        .init(name: "changes in a page", value: Int64(Limits.changesPerPage)),
    ]
}
