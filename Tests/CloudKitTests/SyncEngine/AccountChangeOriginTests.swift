import CloudKitTesting
import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// `CKAccountChanged` is the process's, and engines of parallel tests hear of it.
@Suite struct AccountChangeOriginTests {
    /// A cloud of a test, with an engine on it.
    private final class Place: Sendable {
        /// How often the engine asked whose account it is.
        let asked: RequestCount
        let device = SyncDevice()
        let cloud: LocalCloud
        let directory: ServiceDirectory
        private let id: UUID

        init() throws {
            let cloud = try LocalCloud()
            self.cloud = cloud
            asked = cloud.requests(.account)
            (directory, id) = ServiceDirectory.scoped(
                ServiceScope(), CloudKitEnvironment(), account: "me", SyncEngineEnvironment(sleep: { _ in }),
                Self.provider("me", cloud))
        }

        func start(automatically: Bool = false) {
            ServiceDirectory.$scoped.withValue(directory) {
                device.start(directory.container("iCloud.test").privateCloudDatabase, automatically: automatically)
            }
        }

        func signIn(_ account: String) {
            directory.switchAccount(of: id, to: account, Self.provider(account, cloud))
        }

        private static func provider(_ account: String, _ cloud: LocalCloud) -> ServiceDirectory.Provider {
            { _ in cloud.container(account: account).session.service }
        }

        func fetch() async throws {
            try await ServiceDirectory.$scoped.withValue(directory) { try await device.engine.fetchChanges() }
        }
    }

    @Test func `an engine asks again whose account it is if its own container's account changed`() async throws {
        let (one, other) = (try Place(), try Place())
        for place in [one, other] {
            place.start()
            try await place.fetch()
        }
        #expect(one.asked.count == 1 && other.asked.count == 1)
        for (changed, same) in [(one, other), (other, one)] {
            let (before, unchanged) = (changed.asked.count, same.asked.count)
            changed.signIn("tom")
            changed.signIn("me")
            for place in [one, other] { try await place.fetch() }
            #expect(changed.asked.count == before + 1 && same.asked.count == unchanged)
        }
    }

    @Test func `what an app posts itself concerns the cloud in whose task it does`() async throws {
        let (one, other) = (try Place(), try Place())
        for place in [one, other] {
            place.start()
            try await place.fetch()
        }
        ServiceDirectory.$scoped.withValue(one.directory) {
            NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        }
        for place in [one, other] { try await place.fetch() }
        #expect(one.asked.count == 2 && other.asked.count == 1)
    }

    @Test func `code that observes the process hears of every change, without an object`() throws {
        let (one, other) = (try Place(), try Place())
        let heard = Mutex<[ObjectIdentifier]>([])
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            guard $0.object == nil, let directory = ServiceDirectory.scoped else { return }
            heard.withLock { $0.append(ObjectIdentifier(directory)) }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        for place in [one, other, one] {
            ServiceDirectory.$scoped.withValue(place.directory) { place.signIn("tom") }
        }
        let own = heard.withLock { $0 }.filter {
            [ObjectIdentifier(one.directory), .init(other.directory)].contains($0)
        }
        #expect(own == [one, other, one].map { ObjectIdentifier($0.directory) })
    }

    @Test(.timeLimit(.minutes(15)))
    func `an engine works in the directory of the task that made it, whichever schedules the work`() async throws {
        let (one, other) = (try Place(), try Place())
        one.start(automatically: true)
        await one.device.wait { $0.contains("did fetch") }
        let isOwn = Box<[Bool]>([])
        one.device.onEvent.value = { event in
            if case .sentDatabaseChanges = event { isOwn.value.append(ServiceDirectory.scoped === one.directory) }
        }
        ServiceDirectory.$scoped.withValue(other.directory) {
            one.device.engine.state.add(
                pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: CKRecordZone.ID(zoneName: "Z")))])
        }
        await one.device.wait { $0.contains("sent zones [\"Z\"] failed []") }
        #expect(isOwn.value == [true])
    }
}
