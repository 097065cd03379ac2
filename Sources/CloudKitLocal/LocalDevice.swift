package import CloudKit
import Foundation
package import NephosService
import Synchronization

/// The door of a simulated device, through which each request of its app passes.
package protocol DeviceDoor: Sendable {
    /// Returns when it is the request's turn.
    /// - Throws: `CancellationError` if the caller's task is cancelled, or the app has ended.
    func admit(_ request: String) async throws(CancellationError)
    /// Notes how a request ended that was admitted.
    /// - Parameter outcome: the code of the error; nil for an answer.
    func answered(_ request: String, _ outcome: String?)
    /// Runs the library's tasks of the device.
    var libraryExecutor: any SimulatedExecutor { get }
    /// A call of the app waits for another one.
    func callWaits()
    func callGoesOn()
}

/// An app on a device of a test, from its launch to its end.
package final class LocalDevice: Sendable {
    /// The client ID of the device, which outlives the app.
    package let clientID: String
    /// The device's own keys, which outlive the app.
    package let keyStore: any DeviceKeyStore
    /// Nil for a device that is not simulated.
    package let door: (any DeviceDoor)?
    private let ending = Atomic(false)

    /// What the requests of the ended app wait for.
    private let thaw = Latch()
    /// Nil if they may wait for ever.
    private let idleTimeout: IdleTimeout?
    private let timedOut = Mutex<[String]>([])

    package init(
        clientID: String, keyStore: any DeviceKeyStore, door: (any DeviceDoor)? = nil, idleTimeout: IdleTimeout? = nil
    ) {
        self.idleTimeout = idleTimeout
        self.clientID = clientID
        self.keyStore = keyStore
        self.door = door
    }

    /// Ends the app: it sends nothing more, and its requests do not return.
    package func end() { ending.store(true, ordering: .releasing) }

    /// Whether the app has ended.
    package var hasEnded: Bool { ending.load(ordering: .acquiring) }

    /// Returns once the device is released or the caller's task is cancelled. An app that has ended learns nothing: with an
    /// error it would do what it can no longer do, such as keep a lost change on its disk. But a test that awaits the request
    /// itself goes on after a time without others.
    /// - Parameter request: names the request; nil for one that no code awaits.
    func freeze(_ request: (() -> String)?) async {
        guard let idleTimeout, let request else { return await thaw.wait() }
        if await idleTimeout.wait(for: thaw) { return }
        timedOut.withLock { $0.append(request()) }
    }

    /// The requests of the ended app that waited for so long that a test has to be awaiting them.
    package var timedOutRequests: [String] { timedOut.withLock { $0 } }

    /// Lets the frozen requests of the ended app go, after the test.
    package func release() { thaw.open() }
}

/// What another library attaches to a cloud.
package final class AnyLocalCloudState: Sendable {
    package let value: any Sendable

    package init(_ value: any Sendable) { self.value = value }
}

extension LocalCloud {
    /// Returns the provider of the containers of an account on a device.
    package func provider(
        _ account: String?, _ environment: CloudKitEnvironment.Name, on device: LocalDevice
    ) -> ServiceDirectory.Provider {
        { LocalService(self, container: $0, account: account, environment: environment, device: device) }
    }
}
