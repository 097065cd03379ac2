/// One connection to a SQL database, which one thread uses at a time. Each engine supplies its own type.
package protocol SQLConnection: AnyObject {
    /// Returns the statement, ready for its first `bind`. The connection prepares it on first use and caches it.
    func prepare(_ sql: SQL) throws -> any SQLStatement

    /// Makes the open transaction exclude all other writes. An engine with serialised writes does nothing.
    /// - Throws: an error if the transaction has to restart to get exclusive access.
    func runAlone() throws

    /// Whether a statement costs a round trip to another process. If so, sets are sent as arrays, and each statement
    /// bounds its own page.
    static var isRemote: Bool { get }
    /// Implements the method of the same name in `StorageReader`.
    func settledSequence(of owners: Set<OwnerID>) throws -> Int64
    /// Announces that the next zones are looked up for their change feeds.
    func expectFeeds()
    /// Announces that the zone with this name is looked up next, and then its records with these names. If `shares` is
    /// not 0, as many of its shares are looked up too.
    func expectZone(named name: String, records: [String], shares: Int)
    /// The change sequence up to which a zone is complete; nil unless the lookup of the zone already returned it.
    func knownCompletion(of zone: ZoneKey) throws -> Int64?
    /// Implements the method of the same name in `StorageReader`. The next three methods do so for `StorageReader` and
    /// `StorageTransaction`.
    func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool
    func version(of content: SharedContent) throws -> Int64
    func advanceCatalog() throws
    func insertSubscribedType(_ recordType: String, owner: Int64) throws
    /// - Returns: the record types that gained subscribers after `version`; nil if the database keeps no versions of
    ///   cached content.
    func subscribedTypes(after version: Int64) throws -> [(owner: Int64, recordType: String)]?
    func mayRepeat()
    func commitAsynchronously() throws
    /// Whether the database detects a duplicate request key only on insertion. The write then runs again.
    var findsTakenKeysLater: Bool { get }
    /// Writes a record by a method that only this connection has.
    /// - Returns: the number of the record; nil to have the record written by `SQL.updateRecord` and `SQL.putRecord`.
    func put(_ record: RecordRow) throws -> RowNumber?

    /// The meter that counts the work of the connection's statements.
    var meter: ReadMeter { get }

    /// Reports a record that does not match its checksum.
    func noteDamage(_ record: RecordRowView)
}

extension SQLConnection {
    package func runAlone() throws {}
    package static var isRemote: Bool { false }
    package func settledSequence(of owners: Set<OwnerID>) throws -> Int64 { .max }
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
    package func commitAsynchronously() throws {}
    package func put(_ record: RecordRow) throws -> RowNumber? { nil }
}

/// A prepared statement with its parameters and its current row. It is valid until the same statement is prepared
/// again.
package protocol SQLStatement: AnyObject {
    /// Binds a value to the next parameter. The first call binds `$1`.
    @discardableResult func bind(_ value: Int64) throws -> Self
    /// Binds the number of an owner, or of an account, as the key that the tables have for it.
    @discardableResult func bind(owner: Int64) throws -> Self
    @discardableResult func bind(_ value: String?) throws -> Self
    @discardableResult func bind(_ value: [UInt8]) throws -> Self
    @discardableResult func bind(_ values: [String]) throws -> Self

    /// Moves to the next row. Returns false if there is no further row.
    func step() throws -> Bool
    /// Runs an insertion to completion.
    /// - Returns: the key of the added row; nil if no row was added.
    func insert() throws -> Int64?
    /// Ends the execution. A statement that was not stepped to its end holds its snapshot until this call.
    func reset()
    /// The number of rows that the execution changed.
    var changes: Int { get }

    /// Returns the integer in a column of the current row. Columns count from 0 in this method and the next ones.
    func integer(_ column: Int) -> Int64
    /// Returns the number of the owner or account whose key is in the column; 0 for null and for the number 0.
    func owner(_ column: Int) -> Int64
    func text(_ column: Int) -> String
    func optionalText(_ column: Int) -> String?
    func bytes(_ column: Int) -> [UInt8]
    /// Returns the text in the database's memory, which is valid until the next `step` or `reset`; empty for null.
    func textInPlace(_ column: Int) -> UnsafeRawBufferPointer
    func bytesInPlace(_ column: Int) -> UnsafeRawBufferPointer
}

extension SQLStatement {
    // In a database with one store a number is its own key.
    @discardableResult package func bind(owner: Int64) throws -> Self { try bind(owner) }
    package func owner(_ column: Int) -> Int64 { integer(column) }

    /// Binds an account, or 0 for none.
    @discardableResult func bind(account: Int64) throws -> Self {
        try account == 0 ? bind(Int64(0)) : bind(owner: account)
    }
}

/// The keywords that differ between the SQL dialects of the databases. Migrations name them in braces.
package struct SQLDialect: Sendable {
    /// The text for `{key}`: the type of an auto-incremented primary key that never reuses a number.
    package var key: String
    /// The text for `{rowKey}`: the type of an auto-incremented primary key that may reuse the number of a deleted row.
    package var rowKey: String
    /// The text for `{integer}`: the type of a 64-bit integer.
    package var integer: String
    /// The text for `{text}`: the type of a UTF-8 text that is compared byte by byte.
    package var text: String
    /// The text for `{bytes}`: the type of arbitrary bytes.
    package var bytes: String
    /// The text for `{clustered}`: the clause after a table's definition that stores the rows in the order of the
    /// primary key.
    package var clustered: String

    package init(key: String, rowKey: String, integer: String, text: String, bytes: String, clustered: String) {
        self.key = key
        self.rowKey = rowKey
        self.integer = integer
        self.text = text
        self.bytes = bytes
        self.clustered = clustered
    }

    /// Returns `script` in this dialect.
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
