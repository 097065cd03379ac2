/// Signals between the processes that have one store open, sent after a commit. A signal is only a wake-up and may be
/// lost. The tables are authoritative.
package struct StoreSignals: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A notification is available for clients that poll.
    package static let polls = StoreSignals(rawValue: 1)
    /// A process that has ended may have left jobs, change events or due notifications.
    package static let work = StoreSignals(rawValue: 2)

    /// All signals, which are sent when some may have been lost.
    package static let all: StoreSignals = [.polls, .work]
}

extension StorageEngine {
    package var isShared: Bool { false }
    package func signalOthers(_ signals: StoreSignals) {}
    package func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void) {}
}
