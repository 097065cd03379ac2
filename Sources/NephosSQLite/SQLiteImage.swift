import CSQLite
import Glibc
package import NephosStorage

/// Untyped access to the rows of a store in a SQLite file.
package final class SQLiteImage: StoreCopy {
    private let connection: Connection
    private static let rowsPerRead = 500
    private var isClosed = false
    /// The file that a new store is written to, and its name from the commit on; nil for an existing store.
    private let draft: (path: String, target: String)?

    /// Opens the store. One that is missing exists from the commit on.
    package init(_ id: StoreID, in directory: DataDirectory) throws {
        let file = try directory.file(for: id)
        draft = FileSystem.exists(file) ? nil : (try StoreFile.draft(of: file), file)
        connection = try StoreFile.open(draft?.path ?? file, directory.options)
        try connection.begin(writing: true)
    }

    package func tables() throws -> [StoreTable] {
        try texts(
            """
            SELECT name FROM sqlite_master
            WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'change_sequence' ORDER BY name
            """
        ).map { name in
            StoreTable(name: name, columns: try texts("SELECT name FROM pragma_table_info('\(name)') ORDER BY name"))
        }
    }

    private func texts(_ query: String) throws -> [String] {
        let statement = try connection.prepare(text: query)
        defer { statement.finalize() }
        var texts: [String] = []
        while try statement.step() { texts.append(statement.text(0)) }
        return texts
    }

    package func read(_ table: StoreTable, _ body: ([[StoredValue]]) throws -> Void) throws {
        // What a restore lost above the sequences that the store issues is of other restores of its backup. In a database the
        // stores have one sequence, which another store's may take there.
        let isIssued =
            table.name == "lost_sequences" ? " WHERE first <= (SELECT last FROM change_sequence)" : ""
        // As `PostgresImage` reads it, where a save does not write its zone's row: the way back has the same rows.
        let columns = table.columns.map { column in
            table.name == "zone" && column == "changed"
                ? """
                max(changed, purged_until, coalesce((SELECT max(r.sequence) FROM record AS r
                    WHERE r.owner = zone.owner AND r.zone = zone.id), 0))
                """ : column
        }
        let statement = try connection.prepare(
            text: "SELECT \(columns.joined(separator: ", ")) FROM \(table.name)\(isIssued)")
        defer { statement.finalize() }
        var rows: [[StoredValue]] = []
        while try statement.step() {
            rows.append(table.columns.indices.map { statement.value($0) })
            if rows.count == Self.rowsPerRead {
                try body(rows)
                rows.removeAll(keepingCapacity: true)
            }
        }
        try body(rows)
    }

    package func counters() throws -> StoreCounters {
        var counters = StoreCounters(sequence: try connection.number("SELECT last FROM change_sequence"), ids: [:])
        for name in try texts("SELECT name FROM sqlite_sequence") {
            counters.ids[name] = try connection.number("SELECT seq FROM sqlite_sequence WHERE name = '\(name)'")
        }
        return counters
    }

    package func insert(_ rows: [[StoredValue]], into table: StoreTable) throws {
        if rows.isEmpty { return }
        let statement = try connection.prepare(
            text: """
                INSERT INTO \(table.name) (\(table.columns.joined(separator: ", ")))
                VALUES (\(SQL.parameters(table.columns.count, from: 1)))
                """)
        defer { statement.finalize() }
        for row in rows {
            for value in row {
                switch value {
                case .null: try statement.bind(nil as String?)
                case .integer(let number): try statement.bind(number)
                case .text(let text): try statement.bind(String(decoding: text, as: UTF8.self))
                case .bytes(let bytes): try statement.bind(bytes)
                }
            }
            _ = try statement.step()
            statement.reset()
        }
    }

    package func setCounters(_ counters: StoreCounters) throws {
        try connection.execute("UPDATE change_sequence SET last = \(counters.sequence)")
        let numbered = Set(try texts("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'"))
        for (name, id) in counters.ids where numbered.contains(name) {
            try connection.execute(
                """
                DELETE FROM sqlite_sequence WHERE name = '\(name)';
                INSERT INTO sqlite_sequence (name, seq) VALUES ('\(name)', \(id));
                """)
        }
    }

    package func commit() throws {
        try connection.commit()
        guard let (path, target) = draft else { return }
        // Moves the log into the file, which is renamed without it.
        close()
        guard FileSystem.size("\(path)-wal") == 0 else {
            throw StorageError(.inputOutput, "\(path) could not be written to its end")
        }
        try FileSystem.synchronize(file: path)
        guard rename(path, target) == 0 else { throw StorageError(system: errno, while: "renaming \(path)") }
        try FileSystem.synchronizeParent(of: target)
    }

    package func close() {
        if isClosed { return }
        isClosed = true
        connection.rollback()
        connection.close()
    }
}
