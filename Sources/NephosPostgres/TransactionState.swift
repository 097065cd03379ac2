import NephosStorage

/// A record's place, compared by bytes.
struct RecordKey: Hashable, Comparable {
    var zone: ZoneKey
    var name: [UInt8]

    init(zone: ZoneKey, name: [UInt8]) {
        self.zone = zone
        self.name = name
    }

    init(_ zone: ZoneKey, _ name: String) { self.init(zone: zone, name: Array(name.utf8)) }

    static func < (left: RecordKey, right: RecordKey) -> Bool {
        let (first, second) = ((left.zone.owner.rawValue, left.zone.id), (right.zone.owner.rawValue, right.zone.id))
        return first == second ? left.name.lexicographicallyPrecedes(right.name) : first < second
    }
}

/// What a transaction's change sequences are made of.
struct TransactionState {
    /// The sequences, and the new records, that a transaction may have.
    static let perTransaction: Int64 = 1 << 16

    /// The transaction's number, which PostgreSQL counts up and never gives again once it was committed.
    let number: Int64
    let base: Int64

    init(_ result: PostgresLink.Result) {
        number = PostgresStatement.integer(result, 0, 0)
        base = PostgresStatement.integer(result, 0, 1)
    }

    var firstSequence: Int64 { (number - base) << 16 }
}

extension PostgresConnection {
    /// The transaction's number, if it has one.
    var number: Int64? { knownState?.number }

    /// Keeps a zone's last change. Now and then some of its former ones go.
    func noteChange(_ zone: ZoneKey, _ sequence: Int64) throws {
        let statement = try prepare(.noteChange)
        defer { statement.reset() }
        _ = try statement.bind(sequence).bind(owner: zone.owner.rawValue).bind(zone.id).step()
        if let number, number % 16 == 0 { try trimChanges(of: zone) }
    }
}
