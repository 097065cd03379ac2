import Foundation

/// The containers whose account changed. `CKAccountChanged` has no object, as Apple's has none, and every observer in the
/// process receives it; a sync engine ignores it if the account of its container did not change.
struct AccountChangeOrigin: Sendable {
    /// The cloud of the containers; nil for containers outside of tests' clouds.
    private let scope: ServiceScope?
    /// The engines of one directory of that cloud; nil for all of its directories.
    private let engines: EngineStates?

    init(scope: ServiceScope?, engines: EngineStates? = nil) {
        self.scope = scope
        self.engines = engines
    }

    /// The origin of the notification that is being posted.
    @TaskLocal private static var posted: AccountChangeOrigin?

    /// Posts `CKAccountChanged` and `NSUbiquityIdentityDidChange`. Observers without a queue run in this call, so
    /// `isOutside(of:)` applies to them.
    func post() {
        Self.$posted.withValue(self) {
            NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
            NotificationCenter.default.post(name: .NSUbiquityIdentityDidChange, object: nil)
        }
    }

    /// Whether the notification that an observer is called with is about other containers than the session's. A
    /// notification that the app itself posts outside of every test's cloud is about all.
    static func isOutside(of session: ContainerSession) -> Bool {
        guard let origin = posted ?? ServiceDirectory.scoped.map({ AccountChangeOrigin(scope: $0.scope) }) else {
            return false
        }
        if origin.scope !== session.scope { return true }
        return origin.engines != nil && origin.engines !== session.engines
    }
}
