import NephosStorage
import NephosWire

/// The position of a client in the feed of a zone of its account.
package struct ClientPosition: Hashable, Sendable {
    package var account: String
    package var zoneName: String
    /// The token that the client got last.
    package var syncToken: String

    package init(account: String, zoneName: String, syncToken: String) {
        (self.account, self.zoneName, self.syncToken) = (account, zoneName, syncToken)
    }
}

/// What an environment of a container keeps about clients, besides their records.
package struct DeviceOverview: Encodable, Sendable {
    package struct Subscription: Encodable, Sendable {
        var account: String
        var database: String
        var subscriptionID: String
        /// The record type; nil for every type.
        var recordType: String?
        /// Whether the subscription is for one zone.
        var isOfZone: Bool
    }

    /// A client that gets notifications, without its token.
    package struct Receiver: Encodable, Sendable {
        var account: String
        var client: String
        /// Whether Apple's push service delivers to it; otherwise it polls, or a web hook is called.
        var isDevice: Bool
        var polls: Bool
        /// The time of its last call in milliseconds since 1970.
        var seenAt: Int64
    }

    package struct Jobs: Encodable, Sendable {
        var kind: String
        var count: Int
    }

    package fileprivate(set) var subscriptions: [Subscription] = []
    package fileprivate(set) var receivers: [Receiver] = []
    package fileprivate(set) var jobs: [Jobs] = []
    /// Whether nothing was left out.
    package fileprivate(set) var isComplete = true
}

extension NephosService {
    /// The quotas of a database in bytes, by name; those that are not set are left out.
    package var quotas: [(name: String, bytes: Int64)] {
        [
            ("bytes of an asset", configuration.assetSize),
            ("bytes of assets in a database (quota)", configuration.assetBytesPerDatabase),
            ("bytes of records of an account (quota)", configuration.recordBytesPerAccount),
            ("bytes of public records of a container (quota)", configuration.recordBytesPerContainer),
        ].compactMap { (name: String, bytes: Int64?) in bytes.map { (name, $0) } }
    }

    /// Returns how many changes of the zone each client has not got, `Limits.recordsPerList` × 10 at most; nil for a client
    /// whose zone is gone, or whose token has expired. Reads a bounded number of rows.
    package func changesBehind(
        _ positions: [ClientPosition], _ context: RequestContext
    ) async throws(ServiceError) -> [Int?] {
        try await administer(context, ifUnused: positions.map { _ in nil }) { store in
            try await store.engine.read { reader in
                try positions.map { try Self.changesBehind($0, store, context, reader) }
            }
        }
    }

    private static func changesBehind(
        _ position: ClientPosition, _ store: Store, _ context: RequestContext, _ reader: StorageReader
    ) throws -> Int? {
        guard let account = try Accounts.find(position.account, reader),
            let zone = try reader.zone(owner: account.owner, named: position.zoneName)
        else { return nil }
        let strings = store.caller(viewing: account, context).tokenCodec
        guard
            let start = try? FeedPosition(
                .zone(zone.key.id), token: position.syncToken, fetchEnd: nil, strings,
                last: reader.completeUpTo(zone: zone.key), forgotten: zone.purgedUntil
            ).start
        else { return nil }
        return try reader.recordSizes(zone: zone.key, after: start, limit: 10 * Limits.recordsPerList).count
    }

    /// Lists subscriptions, the clients that get notifications, and background jobs: of the first accounts, and the first
    /// jobs.
    package func listDevices(_ context: RequestContext) async throws(ServiceError) -> DeviceOverview {
        try await administer(context, ifUnused: DeviceOverview()) { store in
            try await store.engine.read { reader in
                var overview = DeviceOverview()
                let accounts = try reader.accounts(after: 0, limit: Limits.accountsPerPage)
                for account in accounts { try overview.add(account, reader) }
                let jobs = try reader.jobs(limit: Limits.recordsPerList)
                overview.jobs = Dictionary(grouping: jobs, by: \.kind).map { .init(kind: $0, count: $1.count) }
                    .sorted { $0.kind < $1.kind }
                if accounts.count == Limits.accountsPerPage || jobs.count == Limits.recordsPerList {
                    overview.isComplete = false
                }
                return overview
            }
        }
    }
}

extension DeviceOverview {
    fileprivate mutating func add(_ account: AccountRow, _ reader: StorageReader) throws {
        for (owner, database) in zip(account.subscriptionOwners, ["private", "public", "shared"]) {
            subscriptions += try reader.subscriptions(owner: owner, account: account.id).map {
                Subscription(
                    account: account.name, database: database, subscriptionID: $0.id,
                    recordType: $0.recordType.isEmpty ? nil : $0.recordType, isOfZone: $0.zone != 0)
            }
        }
        receivers += try reader.pushTokens(account: account.id).map {
            Receiver(
                account: account.name, client: $0.client, isDevice: $0.isDevice, polls: $0.polls, seenAt: $0.seenAt)
        }
    }
}
