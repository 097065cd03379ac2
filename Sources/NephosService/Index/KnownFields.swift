import NephosWire

/// What a save has of a record's fields, as values, beside their bytes.
enum KnownFields {
    case none
    /// The fields that were sent: all others are as they were stored.
    case sent(RecordFields)
    /// All that the record has.
    case all(RecordFields)
}
