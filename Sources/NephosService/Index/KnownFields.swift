import NephosWire

/// The record fields that a save has as values, besides their encoded bytes.
enum KnownFields {
    case none
    /// The sent fields; all others are unchanged.
    case sent(RecordFields)
    /// All fields of the record.
    case all(RecordFields)
}
