/// The states of the sync engines of one app on a test's device. They outlive the engines, so that the test finds what an
/// engine left behind.
package final class EngineStates: Sendable {
    private let states = Locked<[CKSyncEngine.State]>([])

    init() {}

    func add(_ state: CKSyncEngine.State) { states.withLock { $0.append(state) } }

    package var all: [CKSyncEngine.State] { states.withLock { $0 } }
}
