/// What one answer may still hold.
struct AnswerRoom {
    /// Rows that may be read, those included that say nothing new.
    var rows = Limits.changesReadPerRequest
    /// Bytes of fields.
    var size = Limits.changesSize

    /// An answer has a row at least, however large.
    func forOneMore() -> AnswerRoom {
        var room = self
        (room.rows, room.size) = (max(1, rows), max(1, size))
        return room
    }
}
