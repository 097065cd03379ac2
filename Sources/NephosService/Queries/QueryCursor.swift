import NephosStorage

/// The end of a page, which clients receive as an opaque continuation marker.
///
/// Paging is stable under concurrent writes: no record is returned twice, and a record that matches throughout is not
/// missed.
///
/// - In an order by name a record cannot move, so the position alone is enough.
/// - In other orders the marker also has the change sequence at the first page and the returned records. A record
///   written since then may have moved: it is returned at its new position unless it was returned before. At the end of
///   the order, the change feed since the first page gives the records written meanwhile. Records that match and were
///   not returned are returned last: they had moved from after a page to before it.
/// - At most `QueryBounds.rememberedResults` are remembered. After that, only records written since the first page are
///   added. A record written later that was not remembered counts as returned: it is never returned twice, but may be
///   missed.
struct QueryCursor: Equatable {
    enum Phase: Equatable {
        /// The next page begins after this result.
        case ordered(QueryPosition)
        /// The next page begins after this sequence in the change feed of the zone with this ID, or of the zones that
        /// follow it.
        case changes(zone: Int64, sequence: Int64)
    }

    var phase: Phase
    /// The change sequence when the first page was read; 0 for a stable order.
    var start: Int64
    /// The change sequence when the last page was read; 0 for a stable order.
    var seen: Int64 = 0
    var given: GivenRecords
    /// The order as text, if the service chose it; otherwise nil.
    var order: String?

    private static let version: UInt8 = 5

    /// - Parameter query: the encoded query and its zones, to which the marker is bound.
    func text(_ strings: TokenCodec, query: [UInt8]) -> String {
        strings.text(bytes, for: .continuationMarker, of: query)
    }

    var bytes: [UInt8] {
        let numbers = given.packed
        var bytes = ByteWriter(reserving: numbers.count + 256)
        bytes.append(Self.version)
        bytes.append(UInt64(bitPattern: start))
        bytes.append(UInt64(bitPattern: seen))
        bytes.append(UInt64(bitPattern: given.fullSince ?? -1))
        bytes.append(order ?? "")
        switch phase {
        case .ordered(let position):
            bytes.append(order == nil ? 0 : 2 as UInt8)
            bytes.append(position.key)
            bytes.append(position.name)
            bytes.append(UInt64(bitPattern: position.zone))
        case .changes(let zone, let sequence):
            bytes.append(order == nil ? 1 : 3 as UInt8)
            bytes.append(UInt64(bitPattern: zone))
            bytes.append(UInt64(bitPattern: sequence))
        }
        bytes.append(numbers)
        return Array(bytes.bytes)
    }

    init(phase: Phase, start: Int64, seen: Int64 = 0, given: GivenRecords, order: String?) {
        self.phase = phase
        self.start = start
        self.seen = seen
        self.given = given
        self.order = order
    }

    /// Decodes a continuation marker; nil if the text is not a marker of this query.
    init?(_ text: String, _ strings: TokenCodec, query: [UInt8]) {
        guard let bytes = strings.content(of: text, for: .continuationMarker, of: query) else { return nil }
        self.init(bytes: bytes)
    }

    init?(bytes content: [UInt8]) {
        var bytes = ByteReader(content)
        // Version 4 differs in the encoding of `given` alone.
        guard let version = bytes.byte(), version == Self.version || version == 4, let start = bytes.integer(),
            let seen = bytes.integer(),
            let fullSince = bytes.integer(),
            let order = bytes.bytes(), let kind = bytes.byte(), kind < 4
        else { return nil }
        if kind & 1 == 0 {
            guard let key = bytes.bytes(), let name = bytes.bytes(), let zone = bytes.integer() else { return nil }
            phase = .ordered(
                QueryPosition(key: key, name: String(decoding: name, as: UTF8.self), zone: Int64(bitPattern: zone)))
        } else {
            guard let zone = bytes.integer(), let sequence = bytes.integer() else { return nil }
            phase = .changes(zone: Int64(bitPattern: zone), sequence: Int64(bitPattern: sequence))
        }
        let since = Int64(bitPattern: fullSince)
        guard
            let given = bytes.bytes().flatMap({
                GivenRecords(bytes: $0, fullSince: since < 0 ? nil : since, isPacked: version == Self.version)
            })
        else { return nil }
        guard bytes.isAtEnd else { return nil }
        self.start = Int64(bitPattern: start)
        self.seen = Int64(bitPattern: seen)
        self.order = kind & 2 == 0 ? nil : String(decoding: order, as: UTF8.self)
        self.given = given
    }
}

/// The records that the pages so far returned, by record number.
struct GivenRecords: Equatable {
    /// The record numbers of the pages before this one, in ascending order.
    private var earlier: [Int64] = []
    /// The record numbers of this page.
    private var added: [Int64] = []
    /// The change sequence at which the maximum number of records was reached; nil before that.
    private(set) var fullSince: Int64?

    init() {}

    /// Decodes record numbers; nil if the bytes are malformed.
    ///
    /// - Parameter isPacked: false for the former encoding, six bytes for each number.
    init?(bytes: [UInt8], fullSince: Int64?, isPacked: Bool) {
        guard let numbers = isPacked ? Self.unpacked(bytes) : Self.unpackedSixes(bytes) else { return nil }
        earlier = numbers
        self.fullSince = fullSince
    }

    static func == (left: GivenRecords, right: GivenRecords) -> Bool {
        left.sorted == right.sorted && left.fullSince == right.fullSince
    }

    var count: Int { earlier.count + added.count }

    private var sorted: [Int64] { (earlier + added).sorted() }

    mutating func insert(_ number: RowNumber) { added.append(number.value) }

    func contains(_ number: RowNumber) -> Bool {
        var (low, high) = (0, earlier.count)
        while low < high {
            let middle = (low + high) / 2
            if earlier[middle] < number.value { low = middle + 1 } else { high = middle }
        }
        return low < earlier.count && earlier[low] == number.value || added.contains(number.value)
    }

    mutating func becameFull(at sequence: Int64) {
        if fullSince == nil { fullSince = sequence }
    }

    // MARK: Encoding

    /// The differences between the ascending numbers, seven bits a byte, the lowest first. The high bit announces another
    /// byte.
    fileprivate var packed: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 * count)
        var previous: Int64 = 0
        for number in sorted {
            var rest = UInt64(bitPattern: number &- previous)
            previous = number
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes
    }

    private static func unpacked(_ bytes: [UInt8]) -> [Int64]? {
        var numbers: [Int64] = []
        numbers.reserveCapacity(bytes.count)
        var (previous, difference, shift) = (Int64(0), UInt64(0), UInt64(0))
        for byte in bytes {
            guard shift < 64 else { return nil }
            difference |= UInt64(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 != 0 { continue }
            previous &+= Int64(bitPattern: difference)
            numbers.append(previous)
            (difference, shift) = (0, 0)
        }
        return shift == 0 ? numbers : nil
    }

    private static func unpackedSixes(_ bytes: [UInt8]) -> [Int64]? {
        guard bytes.count % 6 == 0 else { return nil }
        return stride(from: 0, to: bytes.count, by: 6)
            .map { bytes[$0..<$0 + 6].reduce(0) { $0 << 8 | Int64($1) } }
            .sorted()
    }
}
