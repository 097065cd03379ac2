import Foundation
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudKitTesting

/// `CKAccountChanged` is the process's, and engines of parallel tests hear of it.
@Suite struct AccountChangeOriginTests {
    /// A cloud of a test, with an engine on it.
    private final class Place: Sendable {
        let app = SyncDevice()
        let device: CloudDevice
        let directory: ServiceDirectory
        private let cloud: LocalCloud

        init() throws {
            cloud = try LocalCloud()
            device = cloud.device()
            directory = device.directory
        }

        func start(automatically: Bool = false) async {
            await device.run { app.start(device.container.privateCloudDatabase, automatically: automatically) }
        }

        /// Fetches; says whether the engine asked whose account it is.
        func fetch() async throws -> Bool {
            let fault = cloud.fail(.account, with: .networkFailure)
            try? await device.run { try await app.engine.fetchChanges() }
            let hasAsked = fault.count > 0
            fault.cancel()
            try await device.run { try await app.engine.fetchChanges() }
            return hasAsked
        }
    }

    @Test func `an engine asks again whose account it is if its own container's account changed`() async throws {
        let (one, other) = (try Place(), try Place())
        for place in [one, other] {
            await place.start()
            for isFirst in [true, false] { #expect(try await place.fetch() == isFirst) }
        }
        for (changed, same) in [(one, other), (other, one)] {
            changed.device.signIn("tom")
            changed.device.signIn("me")
            #expect(try await changed.fetch())
            #expect(try await !same.fetch())
        }
    }

    @Test func `what an app posts itself concerns the cloud in whose task it does`() async throws {
        let (one, other) = (try Place(), try Place())
        for place in [one, other] {
            await place.start()
            #expect(try await place.fetch())
        }
        ServiceDirectory.$scoped.withValue(one.directory) {
            NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        }
        #expect(try await one.fetch())
        #expect(try await !other.fetch())
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
            ServiceDirectory.$scoped.withValue(place.directory) { place.device.signIn("tom") }
        }
        let own = heard.withLock { $0 }.filter {
            [ObjectIdentifier(one.directory), .init(other.directory)].contains($0)
        }
        #expect(own == [one, other, one].map { ObjectIdentifier($0.directory) })
    }

    @Test(.timeLimit(.minutes(15)))
    func `an engine works in the directory of the task that made it, whichever schedules the work`() async throws {
        let (one, other) = (try Place(), try Place())
        await one.start(automatically: true)
        await one.app.wait { $0.contains("did fetch") }
        let isOwn = Box<[Bool]>([])
        one.app.onEvent.value = { event in
            if case .sentDatabaseChanges = event { isOwn.value.append(ServiceDirectory.scoped === one.directory) }
        }
        ServiceDirectory.$scoped.withValue(other.directory) {
            one.app.engine.state.add(
                pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: CKRecordZone.ID(zoneName: "Z")))])
        }
        await one.app.wait { $0.contains("sent zones [\"Z\"] failed []") }
        #expect(isOwn.value == [true])
    }
}
