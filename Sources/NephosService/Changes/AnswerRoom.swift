/// What one answer may still hold.
struct AnswerRoom {
    /// Rows that may be read, those included that say nothing new.
    var rows = Limits.changesReadPerRequest
    /// Bytes of fields.
    var size = Limits.changesSize

    /// Counts what an answer has besides records.
    mutating func take(_ text: String?) { size -= text?.utf8.count ?? 0 }
}
