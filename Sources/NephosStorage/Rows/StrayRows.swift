/// The rows of a table whose zone or account does not exist, as verification of the store finds them.
package struct StrayRows: Hashable, Sendable {
    package var table: String
    /// The name of the column that contains the missing zone or account.
    package var column: String
    /// The number of the missing zone or account.
    package var id: Int64
    /// The owner of the missing zone; nil if an account is missing.
    package var owner: Int64?
    package var count: Int64

    package init(table: String, column: String, id: Int64, owner: Int64?, count: Int64) {
        (self.table, self.column, self.id, self.owner, self.count) = (table, column, id, owner, count)
    }
}
