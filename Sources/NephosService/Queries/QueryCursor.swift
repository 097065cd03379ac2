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

    private static let version: UInt8 = 4

    /// - Parameter query: the encoded query and its zones, to which the marker is bound.
    func text(_ strings: TokenCodec, query: [UInt8]) -> String {
        strings.text(bytes, for: .continuationMarker, of: query)
    }

    var bytes: [UInt8] {
        var bytes = ByteWriter(reserving: given.byteCount + 256)
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
        bytes.append(UInt64(given.byteCount))
        given.write(to: &bytes)
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
        guard bytes.byte() == Self.version, let start = bytes.integer(), let seen = bytes.integer(),
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
        guard let given = bytes.bytes().flatMap({ GivenRecords(bytes: $0, fullSince: since < 0 ? nil : since) })
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
    /// The number of bytes per record number in a marker.
    private static let size = 6

    private var numbers: [Int64] = []
    /// The change sequence at which the maximum number of records was reached; nil before that.
    private(set) var fullSince: Int64?
    private var known: Set<Int64>?

    init() {}

    /// Decodes record numbers; nil if the bytes are malformed.
    init?(bytes: [UInt8], fullSince: Int64?) {
        guard bytes.count % Self.size == 0 else { return nil }
        self.fullSince = fullSince
        numbers.reserveCapacity(bytes.count / Self.size)
        for start in stride(from: 0, to: bytes.count, by: Self.size) {
            numbers.append(bytes[start..<start + Self.size].reduce(0) { $0 << 8 | Int64($1) })
        }
    }

    static func == (left: GivenRecords, right: GivenRecords) -> Bool {
        left.numbers == right.numbers && left.fullSince == right.fullSince
    }

    var count: Int { numbers.count }

    /// The size of a marker's record numbers in bytes.
    var byteCount: Int { Self.size * count }

    fileprivate func write(to bytes: inout ByteWriter) {
        bytes.append(upTo: byteCount + 2) { output in
            // Each store writes eight bytes, and the next store overwrites the last two of them.
            for (index, number) in numbers.enumerated() {
                output.storeBytes(of: (number << 16).bigEndian, toByteOffset: index * Self.size, as: Int64.self)
            }
            return byteCount
        }
    }

    /// Reserves capacity for `count` more record numbers.
    mutating func reserve(_ count: Int) { numbers.reserveCapacity(numbers.count + count) }

    mutating func insert(_ number: RowNumber) {
        numbers.append(number.value)
        known?.insert(number.value)
    }

    mutating func contains(_ number: RowNumber) -> Bool {
        if numbers.isEmpty { return false }
        let all = known ?? Set(numbers)
        known = all
        return all.contains(number.value)
    }

    mutating func becameFull(at sequence: Int64) {
        if fullSince == nil { fullSince = sequence }
    }
}
