import NephosStorage

/// Where a page ended, opaque to clients as a continuation marker.
///
/// Paging is stable while others write: no record comes twice, and none that matches all the time is missed.
///
/// - Where the order is by name, a record cannot change its place, and the place alone is enough.
/// - Otherwise the marker also has the change sequence at the first page, and which records were given. A record that was
///   written since may have moved: it comes at its new place if it was not given before. When the order is at its end,
///   the change feed since the first page tells which records were written meanwhile: those that match and were not given
///   come then, at the end. They had moved from in front of a page to behind it.
/// - At most `QueryBounds.rememberedResults` are remembered. From then on only those are added that were written since the
///   first page; a record that is written afterwards and is not among them is taken for given: it never comes twice, and
///   may be missed.
struct QueryCursor: Equatable {
    enum Phase: Equatable {
        /// Behind this result.
        case ordered(QueryPosition)
        /// In the change feed of the zone with this id, or the next one, behind this sequence.
        case changes(zone: Int64, sequence: Int64)
    }

    var phase: Phase
    /// The change sequence at the first page; 0 where the order is stable.
    var start: Int64
    /// The change sequence when the page was read; 0 where the order is stable.
    var seen: Int64 = 0
    var given: GivenRecords
    /// The order, where the query left it to the service.
    var order: String?

    private static let version: UInt8 = 4

    /// - Parameter query: the query, and where it looks.
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

    /// Nil for what is no marker of the query's.
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

/// The results of the pages so far, by their numbers.
struct GivenRecords: Equatable {
    /// Bytes that a number takes in a marker.
    private static let size = 6

    private var numbers: [Int64] = []
    /// The change sequence at which no more were remembered.
    private(set) var fullSince: Int64?
    private var known: Set<Int64>?

    init() {}

    /// Nil for what is no such bytes.
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

    /// Bytes that their numbers take in a marker.
    var byteCount: Int { Self.size * count }

    fileprivate func write(to bytes: inout ByteWriter) {
        bytes.append(upTo: byteCount + 2) { output in
            // Each in eight bytes, the last two of which the next one overwrites.
            for (index, number) in numbers.enumerated() {
                output.storeBytes(of: (number << 16).bigEndian, toByteOffset: index * Self.size, as: Int64.self)
            }
            return byteCount
        }
    }

    /// Makes room for so many more.
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
