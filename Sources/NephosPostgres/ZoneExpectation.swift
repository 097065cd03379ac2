import NephosStorage

/// A zone that is looked up, and what is read of it next: it comes in the same answer.
struct ZoneExpectation {
    private var name = ""
    private(set) var records: [String] = []
    private(set) var shares = 0
    /// What came, until it is asked for or something is written.
    private var zone = ZoneKey(owner: OwnerID(rawValue: 0), id: 0)
    private var recordRows: PostgresRows?
    private var shareRows: PostgresRows?

    mutating func expect(_ name: String, records: [String], shares: Int) {
        end()
        (self.name, self.records, self.shares) = (name, records, shares)
    }

    /// Whether a statement looks up the zone.
    func isOf(_ statement: PostgresStatement) -> Bool {
        !records.isEmpty && statement.texts.count == 1 && statement.texts[0].utf8.elementsEqual(name.utf8)
    }

    mutating func keep(_ zone: ZoneKey, records: PostgresRows?, shares: PostgresRows?) {
        (self.zone, recordRows, shareRows) = (zone, records, shares)
    }

    /// What is kept is not as it was.
    mutating func end() {
        (records, recordRows, shareRows) = ([], nil, nil)
    }

    /// What a statement gives, where that came with the zone.
    mutating func take(_ statement: PostgresStatement) -> PostgresRows? {
        guard recordRows != nil || shareRows != nil, statement.integers.starts(with: [zone.owner.rawValue, zone.id])
        else {
            return nil
        }
        switch statement.sql {
        case .recordByName, .recordsByNames:
            guard statement.texts.elementsEqual(records, by: { $0.utf8.elementsEqual($1.utf8) }) else { return nil }
            defer { recordRows = nil }
            return recordRows
        case .sharesOfZone:
            guard statement.integers.last == Int64(shares) else { return nil }
            defer { shareRows = nil }
            return shareRows
        default: return nil
        }
    }
}

extension PostgresConnection {
    func expectZone(named name: String, records: [String], shares: Int) {
        if records.allSatisfy(\.isStorable) { expectation.expect(name, records: records, shares: shares) }
    }

    /// Reads the records with the look-up of their zone.
    func runBesideZone(_ statement: PostgresStatement) throws -> PostgresRows? {
        let names = expectation.records
        let owner = statement.integers[0]
        let isOne = names.count == 1
        let records = try PostgresStatement(isOne ? .recordByName : .recordsByNames, self).bind(owner: owner)
            .bind(statement.texts[0])
        if isOne { try records.bind(names[0]) } else { try records.bind(names) }
        let shares = try PostgresStatement(.sharesOfZone, self).bind(owner: owner).bind(statement.texts[0])
            .bind(Int64(expectation.shares))
        let results = try perform([
            query("zone", PostgresSQL.text(.zoneByName), statement.parameters),
            query(
                isOne ? "record" : "records", isOne ? PostgresSQL.recordOfZone : PostgresSQL.recordsOfZone,
                records.parameters),
            query("shares", PostgresSQL.sharesOfZone, shares.parameters),
        ])
        let zone = PostgresRows(results[0])
        guard zone.count > 0 else {
            expectation.end()
            return zone
        }
        let key = ZoneKey(owner: OwnerID(rawValue: owner), id: PostgresStatement.integer(results[0], 0, 0))
        note(results[1], of: names, in: key)
        expectation.keep(key, records: PostgresRows(results[1]), shares: PostgresRows(results[2]))
        return zone
    }
}
