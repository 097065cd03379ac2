import Foundation
import NephosWire

/// What the container objects with one identifier share: the service, the queue for their operations, and what was
/// learnt of the account.
final class ContainerSession: Sendable {
    let identifier: String
    private let current: Locked<any CloudService>
    /// Where operations run that are added to the container or to one of its databases.
    let queue: OperationQueue
    /// Where the account's notifications come from.
    let notifications: NotificationFeed
    private let learntUser = Locked<String?>(nil)
    private let ring: Locked<KeyRing>

    /// Where operations begin, and do nothing else. A serial queue gets its thread however many others an app blocks. It
    /// lives on, because an `OperationQueue` does not keep its underlying queue.
    private static let beginning = DispatchQueue(label: "CloudKit.beginning")

    init(_ identifier: String, _ service: any CloudService, environment: SyncEngineEnvironment = .system) {
        self.identifier = identifier
        current = Locked(service)
        ring = Locked(KeyRing(service, container: identifier))
        notifications = NotificationFeed(service, environment: environment)
        queue = OperationQueue()
        queue.name = "CKContainer \(identifier)"
        queue.underlyingQueue = Self.beginning
    }

    /// What answers the requests, as the account that is signed in.
    var service: any CloudService { current.withLock { $0 } }

    /// The keys of the account's encrypted values.
    var keyRing: KeyRing { ring.withLock { $0 } }

    /// Goes on as another account, or as none: requests from now on are answered by `service`, and a wait for
    /// notifications is for that account's.
    func switchAccount(to service: any CloudService) {
        current.exchange(service)
        ring.exchange(KeyRing(service, container: identifier))
        learntUser.exchange(nil)
        notifications.switchAccount(to: service)
    }

    /// The name of the account's user record, if an answer of the service told it already.
    var knownUserRecordName: String? { learntUser.withLock { $0 } }

    /// How answers name users and shares, as far as the account is known.
    var users: WireUsers { users(knownUserRecordName) }

    func users(_ currentUserRecordName: String?) -> WireUsers {
        WireUsers(currentUserRecordName: currentUserRecordName, shareURLRoot: service.shareURLRoot)
    }

    /// Keeps the name of the account's user record.
    func learn(userRecordName: String?) {
        guard service.hasAccount, let userRecordName, userRecordName != CKCurrentUserDefaultName else { return }
        learntUser.exchange(userRecordName)
    }

    /// The name of the account's user record, asked for once; nil where there is no account or the answer did not come.
    func userRecordName(_ call: ServiceCall) async -> String? {
        guard service.hasAccount else { return nil }
        if let known = knownUserRecordName { return known }
        guard let user = try? await service.currentUser(call) else { return nil }
        learn(userRecordName: user.userRecordName)
        return user.userRecordName
    }
}
