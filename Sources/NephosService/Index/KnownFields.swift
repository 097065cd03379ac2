import NephosWire

/// The record fields that a save has in decoded form, besides their encoded bytes.
enum KnownFields {
    case none
    /// The fields that the client sent; all others are unchanged.
    case sent(RecordFields)
    /// All fields of the record.
    case all(RecordFields)
}
