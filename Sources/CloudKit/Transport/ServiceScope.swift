import Synchronization

/// The cloud of one test: the bounds within which the containers are used that its tasks create.
///
/// Tests run in parallel in one process, and code under test may keep a container in a `static`. A container that is used
/// in the tasks of another cloud, or after its own cloud has ended, fails with the reason, so that no test reads what
/// another wrote.
package final class ServiceScope: Sendable {
    private let ending = Atomic(false)

    package init() {}

    /// Ends the scope: its containers refuse everything from now on.
    package func end() { ending.store(true, ordering: .releasing) }

    package var hasEnded: Bool { ending.load(ordering: .acquiring) }

    /// Why a container of this scope may not be used in the current task; nil if it may.
    var refusal: String? {
        if hasEnded {
            return "This CKContainer belongs to the cloud of an earlier test, which has ended. \(Self.remedy)"
        }
        guard let other = ServiceDirectory.scoped?.scope, other !== self else { return nil }
        return "This CKContainer belongs to the cloud of another test. \(Self.remedy)"
    }

    private static let remedy =
        "Code under test that keeps a container in a `static` keeps the first test's: make the object that has it anew "
        + "in each test, or ask for CKContainer.default() where it is used."
}
