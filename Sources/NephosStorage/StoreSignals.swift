/// Signals between processes that have one store open, sent after a commit. A signal is a wake-up and may get lost; the
/// tables are authoritative.
package struct StoreSignals: OptionSet, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A notification is available for polling clients.
    package static let polls = StoreSignals(rawValue: 1)
    /// A process that ended may have left jobs, change events or due notifications.
    package static let work = StoreSignals(rawValue: 2)

    /// All signals, sent when some may have been lost.
    package static let all: StoreSignals = [.polls, .work]
}

extension StorageEngine {
    package var isShared: Bool { false }
    package func signalOthers(_ signals: StoreSignals) {}
    package func onSignals(_ handler: @escaping @Sendable (StoreSignals) -> Void) {}
}
