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
    /// While a first fetch goes on, the change sequence that was the last when it began: what was deleted up to there is
    /// no news to who never had it. 0 otherwise.
    var firstFetchEnd: Int64

    /// What is known of deletions: of those up to here nothing is missing.
    var deletionsKnown: Int64 { max(sequence, firstFetchEnd) }

    private static let version: UInt8 = 1

    /// - Parameter owner: what tells the database from others.
    func text(owner: String) -> String {
        var bytes: [UInt8] = [Self.version]
        let kind: UInt8 =
            switch feed {
            case .database: 0
            case .zone: 1
            }
        bytes.append(firstFetchEnd == 0 ? kind : kind + 2)
        if case .zone(let id) = feed { Self.append(UInt64(bitPattern: id), to: &bytes) }
        Self.append(UInt64(bitPattern: sequence), to: &bytes)
        if firstFetchEnd != 0 { Self.append(UInt64(bitPattern: firstFetchEnd), to: &bytes) }
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
        let numbers = stride(from: 2, through: bytes.count - 16, by: 8).map {
            Int64(bitPattern: Self.integer(bytes[$0..<$0 + 8]))
        }
        switch (bytes[1], bytes.count) {
        case (0, 18): self.init(feed: .database, sequence: numbers[0])
        case (1, 26): self.init(feed: .zone(numbers[0]), sequence: numbers[1])
        case (2, 26): self.init(feed: .database, sequence: numbers[0], firstFetchEnd: numbers[1])
        case (3, 34): self.init(feed: .zone(numbers[0]), sequence: numbers[1], firstFetchEnd: numbers[2])
        default: return nil
        }
    }

    init(feed: Feed, sequence: Int64, firstFetchEnd: Int64 = 0) {
        self.feed = feed
        self.sequence = sequence
        self.firstFetchEnd = firstFetchEnd
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
