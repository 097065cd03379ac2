import NephosStorage

/// A record's place, compared by bytes.
struct RecordKey: Hashable {
    var zone: ZoneKey
    var name: [UInt8]
}
