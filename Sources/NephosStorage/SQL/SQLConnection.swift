/// One connection to a SQL database, used by one thread at a time. Each engine supplies its own.
package protocol SQLConnection: AnyObject {
    /// The SQL dialect.
    static var dialect: SQLDialect { get }

    /// The statement, prepared on first use and cached, reset and ready for its first `bind`.
    func prepare(_ sql: SQL) throws -> any SQLStatement
    /// Runs statements without parameters, and discards their rows.
    func execute(_ script: String) throws

    /// Opens a transaction; a writing one takes the write lock at once.
    func begin(writing: Bool) throws
    func commit() throws
    /// The total checkpoint time of its commits in nanoseconds; 0 for engines without a log of their own.
    var checkpointNanoseconds: Int64 { get }
    /// Rolls back the open transaction, if any. Cannot fail: a transaction that cannot be rolled back was never
    /// committed.
    func rollback()
    /// Whether a transaction is open. Some failures end it implicitly.
    var isInTransaction: Bool { get }

    /// Makes the open transaction exclude all other writes. Engines with serialised writes need not do anything.
    /// - Throws: if the transaction has to restart for that.
    func runAlone() throws

    /// Whether a statement costs a round trip to another process: then sets are sent as arrays, and a page is bounded
    /// in its statement.
    static var isRemote: Bool { get }
    /// No commit that is still to come has a change sequence below it.
    var horizon: Int64 { get }
    /// Zones are looked up for their feeds.
    func expectFeeds()
    /// A zone is looked up next, then its records of these names and, where that is not 0, as many of its shares.
    func expectZone(named name: String, records: [String], shares: Int)
    /// Up to where a zone is complete, where that came with the zone.
    func knownCompletion(of zone: ZoneKey) throws -> Int64?
    /// As `StorageReader` and `StorageTransaction` have them.
    func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool
    func version(of content: SharedContent) throws -> Int64
    func advanceCatalog() throws
    func insertSubscribedType(_ recordType: String, owner: Int64) throws
    /// - Returns: nil if the database keeps no version of them.
    func subscribedTypes(after version: Int64) throws -> [(owner: Int64, recordType: String)]?
    func mayRepeat()
    /// Whether a duplicate request key is detected on insertion, after which the write runs again.
    var findsTakenKeysLater: Bool { get }
    /// Writes a record by the connection's own means.
    /// - Returns: its number; nil to have it written by `SQL.updateRecord` and `SQL.putRecord`.
    func put(_ record: RecordRow) throws -> RowNumber?

    /// The version after the last migration (`[Migration].version`); 0 for a new store.
    func schemaVersion() throws -> Int
    /// Sets the version in the open transaction.
    func setSchemaVersion(_ version: Int) throws

    /// Counts the work of its statements.
    var meter: ReadMeter { get }

    /// Reports a record that fails its checksum.
    func noteDamage(_ record: RecordRowView)

    /// Closes the connection. No call may follow.
    func close()
}

extension SQLConnection {
    package var checkpointNanoseconds: Int64 { 0 }
    package func runAlone() throws {}
    package static var isRemote: Bool { false }
    package var horizon: Int64 { .max }
    package func expectFeeds() {}
    package func expectZone(named name: String, records: [String], shares: Int) {}
    package func knownCompletion(of zone: ZoneKey) throws -> Int64? { nil }
    package func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool { true }
    package func version(of content: SharedContent) throws -> Int64 { 0 }
    package func advanceCatalog() throws {}
    package func insertSubscribedType(_ recordType: String, owner: Int64) throws {}
    package func subscribedTypes(after version: Int64) throws -> [(owner: Int64, recordType: String)]? { nil }
    package var findsTakenKeysLater: Bool { false }
    package func mayRepeat() {}
    package func put(_ record: RecordRow) throws -> RowNumber? { nil }
}

/// A prepared statement with its parameters and its current row, valid until it is prepared again.
package protocol SQLStatement: AnyObject {
    /// Binds the next parameter: the first call is for `$1`.
    @discardableResult func bind(_ value: Int64) throws -> Self
    @discardableResult func bind(_ value: String?) throws -> Self
    @discardableResult func bind(_ value: [UInt8]) throws -> Self
    @discardableResult func bind(_ values: [String]) throws -> Self

    /// Moves to the next row; false when there is none.
    func step() throws -> Bool
    /// Runs an insertion to completion.
    /// - Returns: the key of the added row; nil if none was added.
    func insert() throws -> Int64?
    /// Ends the execution. A statement that is not stepped to its end holds its snapshot until this call.
    func reset()
    /// The number of rows the execution changed.
    var changes: Int { get }

    /// Values of the current row; columns count from 0.
    func integer(_ column: Int) -> Int64
    func text(_ column: Int) -> String
    func optionalText(_ column: Int) -> String?
    func bytes(_ column: Int) -> [UInt8]
    /// The text in the database's memory, valid until the next `step` or `reset`; empty for null.
    func textInPlace(_ column: Int) -> UnsafeRawBufferPointer
    func bytesInPlace(_ column: Int) -> UnsafeRawBufferPointer
}

/// The words in which the databases' SQL dialects differ. The migrations name them in braces.
package struct SQLDialect: Sendable {
    /// `{key}`: the type of an auto-incremented primary key that never reuses a number.
    package var key: String
    /// `{rowKey}`: the type of an auto-incremented primary key that may reuse the number of a deleted row.
    package var rowKey: String
    /// `{integer}`: 64 bits.
    package var integer: String
    /// `{text}`: UTF-8, compared byte by byte.
    package var text: String
    /// `{bytes}`: any bytes.
    package var bytes: String
    /// `{clustered}`: after a table's definition, stores its rows in the order of its primary key.
    package var clustered: String

    package init(key: String, rowKey: String, integer: String, text: String, bytes: String, clustered: String) {
        self.key = key
        self.rowKey = rowKey
        self.integer = integer
        self.text = text
        self.bytes = bytes
        self.clustered = clustered
    }

    /// `script` in this dialect.
    package func render(_ script: String) -> String {
        let words = [
            "key": key, "rowKey": rowKey, "integer": integer, "text": text, "bytes": bytes, "clustered": clustered,
        ]
        var result = ""
        for (index, part) in script.split(separator: "{", omittingEmptySubsequences: false).enumerated() {
            if index == 0 {
                result += part
                continue
            }
            let pieces = part.split(separator: "}", maxSplits: 1, omittingEmptySubsequences: false)
            guard pieces.count == 2, let word = words[String(pieces[0])] else {
                preconditionFailure("A migration names the word {\(part)}, which no dialect has.")
            }
            result += word
            result += pieces[1]
        }
        return result
    }
}
