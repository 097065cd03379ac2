/// One connection to a SQL database, used by one thread at a time. What an engine supplies.
package protocol SQLConnection: AnyObject {
    /// The words in which its SQL differs.
    static var dialect: SQLDialect { get }

    /// The statement, prepared on first use and kept, reset and ready for its first `bind`.
    func prepare(_ sql: SQL) throws -> any SQLStatement
    /// Runs statements that have no parameters and whose rows are not wanted.
    func execute(_ script: String) throws

    /// Opens a transaction; for writing it takes the write lock at once.
    func begin(writing: Bool) throws
    func commit() throws
    /// How long its commits have taken to checkpoint so far, in nanoseconds: engines without a log of their own, 0.
    var checkpointNanoseconds: Int64 { get }
    /// Undoes the open transaction, if one is open. Cannot fail: what cannot be undone was never committed.
    func rollback()
    /// Whether a transaction is open. Some failures end it without being asked to.
    var isInTransaction: Bool { get }

    /// Has the open transaction run while no other write does. An engine that writes one transaction after another has
    /// nothing to do for that.
    /// - Throws: where the transaction has to begin anew for that.
    func runAlone() throws

    /// Whether a statement costs a way to another process: then sets go as arrays, and a page is bounded in its statement.
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
    /// - Returns: nil where the database keeps no version of them.
    func subscribedTypes(after version: Int64) throws -> [(owner: Int64, recordType: String)]?
    func mayRepeat()
    /// Whether a request's key that is taken is found when it is inserted, and the write then runs again.
    var findsTakenKeysLater: Bool { get }
    /// Writes a record in a way of the connection's own.
    /// - Returns: its number; nil where it is to be written by `SQL.updateRecord` and `SQL.putRecord`.
    func put(_ record: RecordRow) throws -> RowNumber?

    /// The version that the last migration left (`[Migration].version`); 0 for a new store.
    func schemaVersion() throws -> Int
    /// Sets it, as part of the open transaction.
    func setSchemaVersion(_ version: Int) throws

    /// Its statements count their work there.
    var meter: ReadMeter { get }

    /// A record was read that is not what was written.
    func noteDamage(_ record: RecordRowView)

    /// Closes the connection. Nothing may be called after it.
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
    /// Runs an insertion to its end.
    /// - Returns: the key of the row that it added; nil where it added none.
    func insert() throws -> Int64?
    /// Ends the execution. A statement that is not stepped to its end holds its snapshot until then.
    func reset()
    /// The number of rows the execution changed.
    var changes: Int { get }

    /// Values of the current row; columns count from 0.
    func integer(_ column: Int) -> Int64
    func text(_ column: Int) -> String
    func optionalText(_ column: Int) -> String?
    func bytes(_ column: Int) -> [UInt8]
    /// The same where the database has them, until the next `step` or `reset`; empty for null.
    func textInPlace(_ column: Int) -> UnsafeRawBufferPointer
    func bytesInPlace(_ column: Int) -> UnsafeRawBufferPointer
}

/// The words in which the databases' SQL differs. The migrations name them in braces.
package struct SQLDialect: Sendable {
    /// `{key}`: the type of a primary key that counts up and never gives a number twice.
    package var key: String
    /// `{rowKey}`: the type of a primary key that counts up, and may give the number of a row that is gone again.
    package var rowKey: String
    /// `{integer}`: 64 bits.
    package var integer: String
    /// `{text}`: UTF-8, compared byte by byte.
    package var text: String
    /// `{bytes}`: any bytes.
    package var bytes: String
    /// `{clustered}`: after a table's definition, that its rows are kept in the order of its primary key.
    package var clustered: String

    package init(key: String, rowKey: String, integer: String, text: String, bytes: String, clustered: String) {
        self.key = key
        self.rowKey = rowKey
        self.integer = integer
        self.text = text
        self.bytes = bytes
        self.clustered = clustered
    }

    /// `script` in the dialect's words.
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
