import Synchronization

/// Reports each damaged record of a store to the operator, once.
package final class DamageLog: Sendable {
    /// The numbers of the records that were reported.
    private let named = Mutex<Set<Int64>>([])
    private let store: String
    private let write: @Sendable (String) -> Void
    /// The maximum number of reported records per store, beyond which the whole store counts as damaged.
    private static let most = 1000

    /// - Parameters:
    ///   - store: the operator's name for the store.
    ///   - write: writes a line to the operator's log.
    package init(store: String, write: @escaping @Sendable (String) -> Void) {
        self.store = store
        self.write = write
    }

    package func note(_ record: RecordRowView) {
        let isNews = named.withLock { $0.count < Self.most && $0.insert(record.number.value).inserted }
        guard isNews else { return }
        let name = String(decoding: record.name, as: UTF8.self)
        write(
            """
            The record \(name) of zone \(record.zone.id) is damaged in \(store) (row \(record.number.value)): it is not what \
            was written, and is given to nobody. Restore the store from a backup.
            """)
    }
}
