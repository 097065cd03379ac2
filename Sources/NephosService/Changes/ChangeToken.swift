import FoundationEssentials

/// A position in a change feed, opaque to clients: which feed, and the change sequence up to which it was read.
///
/// A zone's token names the zone's incarnation, so one of a zone that was deleted and made again no longer fits, and
/// neither does one of another database or another store: the database's owner has a name that is drawn at random.
struct ChangeToken: Equatable {
    enum Feed: Equatable {
        case database
        /// By the id of its row.
        case zone(Int64)
    }

    var feed: Feed
    var sequence: Int64

    private static let version: UInt8 = 1

    /// - Parameter owner: what tells the database from others.
    func text(owner: String) -> String {
        var bytes: [UInt8] = [Self.version]
        switch feed {
        case .database: bytes.append(0)
        case .zone: bytes.append(1)
        }
        if case .zone(let id) = feed { Self.append(UInt64(bitPattern: id), to: &bytes) }
        Self.append(UInt64(bitPattern: sequence), to: &bytes)
        Self.append(Self.checksum(bytes, owner), to: &bytes)
        return Data(bytes).base64EncodedString()
    }

    /// Nil for what is no token of that owner's.
    init?(_ text: String, owner: String) {
        guard let data = Data(base64Encoded: text) else { return nil }
        let bytes = [UInt8](data)
        guard bytes.count > 10, bytes[0] == Self.version,
            Self.integer(bytes.suffix(8)) == Self.checksum(Array(bytes.dropLast(8)), owner)
        else { return nil }
        switch (bytes[1], bytes.count) {
        case (0, 18):
            feed = .database
            sequence = Int64(bitPattern: Self.integer(bytes[2..<10]))
        case (1, 26):
            feed = .zone(Int64(bitPattern: Self.integer(bytes[2..<10])))
            sequence = Int64(bitPattern: Self.integer(bytes[10..<18]))
        default: return nil
        }
    }

    init(feed: Feed, sequence: Int64) {
        self.feed = feed
        self.sequence = sequence
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
        }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// FNV-1a over the token and its owner: it finds mistakes, it keeps no secret.
    private static func checksum(_ bytes: [UInt8], _ owner: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes + Array(owner.utf8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }
}
