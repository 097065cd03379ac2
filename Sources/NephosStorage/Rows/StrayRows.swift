/// Rows of a table whose zone or account does not exist, found by a store's verification.
package struct StrayRows: Hashable, Sendable {
    package var table: String
    /// The column that names the zone or account.
    package var column: String
    /// The zone's or account's number.
    package var id: Int64
    /// The owner of the missing zone; nil for a missing account.
    package var owner: Int64?
    package var count: Int64

    package init(table: String, column: String, id: Int64, owner: Int64?, count: Int64) {
        (self.table, self.column, self.id, self.owner, self.count) = (table, column, id, owner, count)
    }
}
