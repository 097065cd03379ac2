/// What processes that have one store open tell each other after a commit. A signal is a wake-up and may get lost; the
/// tables are the truth.
package struct StoreSignals: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A notification is there for clients that poll.
    package static let polls = StoreSignals(rawValue: 1)
    /// Jobs, change events or due notifications may have been left by a process that is gone.
    package static let work = StoreSignals(rawValue: 2)

    /// Where signals may have been lost.
    package static let all: StoreSignals = [.polls, .work]
}

extension StorageEngine {
    package var isShared: Bool { false }
    package func signalOthers(_ signals: StoreSignals) {}
    package func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void) {}
}
