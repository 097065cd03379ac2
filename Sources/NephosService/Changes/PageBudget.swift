/// What one answer may still hold.
struct PageBudget {
    /// Rows that may be read, those included that say nothing new.
    var rows = Limits.changesReadPerRequest
    /// Bytes of fields.
    var size = Limits.changesSize
    /// Bytes beyond that.
    private var excess = 0

    /// Begins with another feed, of which the answer has a row at least, so that every feed comes forward: as long as the
    /// rows that went beyond the room are not too many bytes.
    mutating func beginFeed() {
        if size < 0 { excess -= size }
        let least = excess < Limits.lookupSize ? 1 : 0
        (rows, size) = (max(least, rows), max(least, size))
    }

    /// Counts what an answer has besides records.
    mutating func take(_ text: String?) { size -= text?.utf8.count ?? 0 }
}
