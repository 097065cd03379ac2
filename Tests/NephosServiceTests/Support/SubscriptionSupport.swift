import NephosPostgresTesting
import NephosSQLite
import NephosWire
import Synchronization
import Testing

@testable import NephosService

extension TestDatabase {
    func save(_ subscription: SubscriptionDictionary) async throws(ServiceError) -> SubscriptionResult {
        try await modify([.update(subscription)])[0]
    }

    func modify(_ operations: [SubscriptionOperation]) async throws(ServiceError) -> [SubscriptionResult] {
        try await cloud.service.modifySubscriptions(ModifySubscriptionsRequest(operations: operations), context)
            .subscriptions
    }

    /// The IDs of the caller's subscriptions.
    func subscriptionIDs() async throws(ServiceError) -> [String] {
        try await cloud.service.listSubscriptions(context).subscriptions.compactMap { $0.subscription?.subscriptionID }
    }
}

extension SubscriptionResult {
    var subscription: SubscriptionDictionary? {
        if case .subscription(let subscription) = self { subscription } else { nil }
    }
    var error: ErrorDictionary? { if case .failure(let error) = self { error } else { nil } }
}

extension SubscriptionDictionary {
    /// A query subscription to the type Note.
    static func query(
        _ id: String?, _ firesOn: Set<Trigger> = [.create, .update, .delete], type: String = "Note",
        where filters: [Filter] = [], once: Bool = false, zone: String? = nil, zoneWide: Bool = false,
        info: NotificationInfoDictionary? = nil
    ) -> SubscriptionDictionary {
        SubscriptionDictionary(
            subscriptionID: id, subscriptionType: .query, query: Query(recordType: type, filterBy: filters),
            firesOn: firesOn, firesOnce: once, zoneID: zone.map { ZoneIDDictionary(zoneName: $0) }, zoneWide: zoneWide,
            notificationInfo: info)
    }

    static func zone(_ id: String?, _ zone: String, type: String? = nil) -> SubscriptionDictionary {
        SubscriptionDictionary(
            subscriptionID: id, subscriptionType: .zone, zoneID: ZoneIDDictionary(zoneName: zone), recordType: type)
    }

    static func database(_ id: String?, type: String? = nil) -> SubscriptionDictionary {
        SubscriptionDictionary(subscriptionID: id, subscriptionType: .database, recordType: type)
    }
}

/// A client that polls for an account's notifications.
final class TestDevice: Sendable {
    let cloud: TestCloud
    let token: TokenResponse
    private let context: RequestContext
    private let last = Mutex<String?>(nil)

    init(_ cloud: TestCloud, _ account: String = "me", client: String? = nil) async throws {
        self.cloud = cloud
        context = cloud.context(account, client: client)
        token = try await cloud.service.createToken(TokenRequest(apnsEnvironment: .development), context)
    }

    /// The next notification, of which the poll after this one is the receipt; nil when the time is over.
    func next() async throws -> NotificationPayload? {
        await cloud.service.tellSubscribers()
        let polled = try await cloud.service.nextNotification(
            token: token.apnsToken, receipt: .exact(notificationID: last.withLock(\.self)), context)
        let payload = try polled.map { try NotificationPayload(decoding: $0.payload) }
        last.withLock { $0 = payload?.notificationID }
        return payload
    }

    /// A poll that says nothing of what it received.
    func poll(_ receipt: LongPollRegistry.Receipt = .implied) async throws -> PolledNotification? {
        await cloud.service.tellSubscribers()
        return try await cloud.service.nextNotification(token: token.apnsToken, receipt: receipt, context)
    }

    /// Everything that waits, in short: the cloud holds no poll.
    func all() async throws -> [String] {
        var found: [String] = []
        while let payload = try await next() { found.append(payload.summary) }
        return found
    }
}

/// Two accounts, tom and cora, whose role alone reads notes of the public database, and who subscribe to them.
struct Curators {
    private let cloud: TestCloud
    /// The database of an account that creates notes.
    var author: TestDatabase { TestDatabase(cloud, "mei", .public) }

    init(_ cloud: TestCloud) async throws {
        self.cloud = cloud
        let schema = """
            DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, t STRING QUERYABLE,
            GRANT READ, WRITE TO Curator, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
            """
        #expect(try await cloud.service.importSchema(schema, cloud.context(nil, .public)).findings == [])
        _ = try await author.modify([.create("first")])
        for name in ["tom", "cora"] {
            let database = TestDatabase(cloud, name, .public)
            _ = try await cloud.service.currentUser(database.context)
            _ = try await cloud.service.assignRole(
                RoleRequest(account: name, role: "Curator"), cloud.context(nil, .public))
            _ = try await database.save(.query("S", [.create, .update, .delete]))
        }
    }

    func revoke(_ name: String) async throws {
        _ = try await cloud.service.revokeRole(
            RoleRequest(account: name, role: "Curator"), cloud.context(nil, .public))
    }
}

extension TestCloud {
    /// Answers polls at once.
    static func impatient(_ notifications: NotificationOutlets = NotificationOutlets()) -> TestCloud {
        var configuration = ServiceConfiguration(notifications: notifications)
        configuration.pollDuration = .zero
        return TestCloud(configuration)
    }
}

extension NotificationPayload {
    /// `S: create a in Z`, `S: zone Z`, `S: database`.
    var summary: String {
        switch kind {
        case .query(let name, let reason, _):
            "\(subscriptionID ?? ""): \(reason.map { "\($0)" } ?? "") \(name ?? "") in \(zoneID?.zoneName ?? "")"
        case .zone: "\(subscriptionID ?? ""): zone \(zoneID?.zoneName ?? "")"
        case .database: "\(subscriptionID ?? ""): database"
        }
    }
}
