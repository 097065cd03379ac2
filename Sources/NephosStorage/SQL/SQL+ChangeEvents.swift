extension StorageReader {
    /// What is to be told, the oldest first.
    package final func changeEvents(limit: Int) throws -> [ChangeEventRow] {
        try rows(.changeEvents, bind: { try $0.bind(limit: limit) }, read: { ChangeEventRow($0) })
    }

    /// The number of the newest of them; nil where there is none.
    package final func lastChangeEvent() throws -> Int64? {
        try rows(.lastChangeEvent, bind: { _ in }, read: { $0.integer(0) }).first
    }
}

extension StorageTransaction {
    /// Adds what is to be told, under a new id.
    package func insert(_ event: ChangeEventRow) throws {
        try change(.insertChangeEvent) {
            try $0.bind(event.zone).bind(event.zoneName).bind(event.sequence).bind(event.originAccount)
                .bind(event.originClient).bind(event.body)
        }
    }

    /// Keeps up to which subscription an event was told, and of which sequence it is.
    package func update(_ event: ChangeEventRow) throws {
        let position = event.position
        try change(.updateChangeEvent) {
            try $0.bind(event.sequence).bind(position?.recordType).bind(position?.account ?? 0).bind(position?.id)
                .bind(position?.count ?? 0).bind(event.id)
        }
    }

    package func removeChangeEvent(id: Int64) throws {
        try change(.removeChangeEvent) { try $0.bind(id) }
    }

    /// Keeps other transactions from an event until this one ends.
    /// - Parameter position: up to which subscription it was told when it was read.
    /// - Returns: false where it is gone, was told further since, or another transaction has it.
    package func claimChangeEvent(id: Int64, at position: SubscriptionPosition?) throws -> Bool {
        try row(.claimChangeEvent) {
            try $0.bind(id)
        } read: {
            SubscriptionPosition($0, from: 0) == position
        } ?? false
    }
}

extension ChangeEventRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            id: row.integer(0), zone: ZoneKey(owner: OwnerID(rawValue: row.integer(1)), id: row.integer(2)),
            zoneName: row.text(3), sequence: row.integer(4), originAccount: row.integer(5), originClient: row.text(6),
            body: row.bytes(7), position: SubscriptionPosition(row, from: 8))
    }
}

extension SubscriptionPosition {
    fileprivate init?(_ row: any SQLStatement, from column: Int) {
        guard let type = row.optionalText(column) else { return nil }
        self.init(
            recordType: type, account: row.integer(column + 1), id: row.text(column + 2),
            count: row.integer(column + 3))
    }
}
