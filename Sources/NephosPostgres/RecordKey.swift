import NephosStorage

/// A record's place, compared by bytes.
struct RecordKey: Hashable {
    var zone: ZoneKey
    var name: [UInt8]

    init(zone: ZoneKey, name: [UInt8]) {
        self.zone = zone
        self.name = name
    }

    init(_ zone: ZoneKey, _ name: String) { self.init(zone: zone, name: Array(name.utf8)) }
}
