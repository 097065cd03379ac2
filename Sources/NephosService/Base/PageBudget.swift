extension Limits {
    /// The maximum number of items of a page of changes for a request's `resultsLimit`. A larger one is no error.
    static func ofPage(_ resultsLimit: Int?, most: Int) throws(ServiceError) -> Int {
        guard let resultsLimit else { return most }
        guard resultsLimit > 0 else { throw .invalid("resultsLimit is a number above 0") }
        return min(resultsLimit, most)
    }
}

/// The remaining budget of one response to a request for changes.
struct PageBudget {
    /// The number of rows that may still be scanned, including rows that yield no change.
    var rows = Limits.changesReadPerRequest
    /// The number of bytes of fields that may still be read.
    var size = Limits.changesSize
    /// The number of bytes by which earlier feeds exceeded the budget.
    private var excess = 0

    /// Starts the next feed. The feed may read at least one row, so that every feed makes progress, until the rows
    /// beyond the budget reach `Limits.lookupSize` bytes.
    mutating func beginFeed() {
        if size < 0 { excess -= size }
        let least = excess < Limits.lookupSize ? 1 : 0
        (rows, size) = (max(least, rows), max(least, size))
    }

    /// Subtracts the bytes of a text that the response holds besides records.
    mutating func take(_ text: String?) { size -= text?.utf8.count ?? 0 }
}
