import NephosStorage

extension PostgresConnection {
    func put(_ record: RecordRow) throws -> RowNumber? {
        expectation.end()
        try require(record.zone.owner)
        writtenZones.insert(record.zone)
        let key = RecordKey(zone: record.zone, name: Array(record.name.utf8))
        func parameters(_ number: Int64) throws -> PostgresLink.Parameters {
            let values = PostgresStatement(.putRecord, self)
            try values.bind(number).bind(owner: record.zone.owner.rawValue).bind(record.zone.id).bind(record.name)
            return try values.bind(contentOf: record).parameters
        }
        switch found[key] {
        case .some(.some(let number)):
            try enqueue(query("update", PostgresSQL.updateRecord, try parameters(number)))
            return RowNumber(number)
        case .some(.none):
            let number = try takeNumber()
            found[key] = number
            try enqueue(query("insert", PostgresSQL.insertRecord, try parameters(number)))
            return RowNumber(number)
        case nil:
            let values = try parameters(try takeNumber())
            mark.hasSent = true
            let result = try perform([query("put", PostgresSQL.putRecord, values)]).last
            let number = result.map { PostgresStatement.integer($0, 0, 0) } ?? 0
            found[key] = number
            return RowNumber(number)
        }
    }

    /// Returns the number of a new record: the next of the transaction's change sequences.
    private func takeNumber() throws -> Int64 {
        let first = try takeFirstSequence()
        guard nextNumber < PostgresSQL.sequencesPerTransaction else {
            throw StorageError(.constraint, "a transaction adds no more records than \(nextNumber); split it")
        }
        nextNumber += 1
        return first + nextNumber - 1
    }

    /// Stores the sequence of a zone's last change, unless a record that the transaction wrote has it.
    func noteChange(_ zone: ZoneKey, _ sequence: Int64) throws {
        if writtenZones.contains(zone) { return }
        let statement = try prepare(.noteChange)
        defer { statement.reset() }
        _ = try statement.bind(sequence).bind(owner: zone.owner.rawValue).bind(zone.id).step()
    }
}
