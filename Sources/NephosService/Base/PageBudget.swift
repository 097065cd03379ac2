/// The remaining budget of one answer.
struct PageBudget {
    /// Rows that may be scanned, including rows that yield no change.
    var rows = Limits.changesReadPerRequest
    /// Bytes of fields.
    var size = Limits.changesSize
    /// Bytes by which earlier feeds exceeded the budget.
    private var excess = 0

    /// Starts the next feed. It may read at least one row, so that every feed makes progress, until the rows beyond the
    /// budget reach `Limits.lookupSize` bytes.
    mutating func beginFeed() {
        if size < 0 { excess -= size }
        let least = excess < Limits.lookupSize ? 1 : 0
        (rows, size) = (max(least, rows), max(least, size))
    }

    /// Counts an answer's bytes other than records.
    mutating func take(_ text: String?) { size -= text?.utf8.count ?? 0 }
}
