import FoundationEssentials
import NephosStorage
import NephosWire

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
    var given: GivenRecords
    /// The order, where the query left it to the service.
    var order: String?

    private static let version: UInt8 = 2

    /// - Parameter query: tells the query from all others.
    func text(query: UInt64) -> String {
        var bytes = ByteWriter(reserving: given.byteCount + 256)
        bytes.append(Self.version)
        bytes.append(query)
        bytes.append(UInt64(bitPattern: start))
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
        bytes.append(FNV.hash(bytes.bytes))
        return bytes.base64()
    }

    init(phase: Phase, start: Int64, given: GivenRecords, order: String?) {
        self.phase = phase
        self.start = start
        self.given = given
        self.order = order
    }

    /// Nil for what is no marker of the query's.
    init?(_ text: String, query: UInt64) {
        guard let data = Data(base64Encoded: text), data.count > 8 else { return nil }
        var end = ByteReader([UInt8](data.suffix(8)))
        let content = [UInt8](data.dropLast(8))
        guard end.integer() == FNV.hash(content) else { return nil }
        var bytes = ByteReader(content)
        guard bytes.byte() == Self.version, bytes.integer() == query, let start = bytes.integer(),
            let fullSince = bytes.integer(), let order = bytes.bytes(), let kind = bytes.byte(), kind < 4
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
        self.start = Int64(bitPattern: start)
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

/// FNV-1a: it finds mistakes, it keeps no secret. The last step mixes the high bits into the low ones.
struct FNV {
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    init(of bytes: UnsafeRawBufferPointer) { add(bytes) }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var hash = hash
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        self.hash = hash
    }

    var value: UInt64 {
        let mixed = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        return mixed ^ mixed >> 33
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    static func hash(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { hash($0) } }

    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 { FNV(of: bytes).value }
}

private struct ByteWriter: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    private var count = 0

    init(reserving count: Int) { memory = .allocate(byteCount: count, alignment: 8) }

    deinit { memory.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// What was written, in base 64.
    borrowing func base64() -> String { Base64.text(bytes) }

    /// Has `write` append up to `count` bytes; it returns how many they are.
    mutating func append(upTo more: Int, _ write: (UnsafeMutableRawPointer) -> Int) {
        if count + more > memory.count { grow(more) }
        guard let start = memory.baseAddress else { return }
        count += write(start + count)
    }

    private mutating func grow(_ more: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * (count + more), alignment: 8)
        larger.copyMemory(from: bytes)
        memory.deallocate()
        memory = larger
    }

    mutating func append(_ byte: UInt8) {
        append(upTo: 1) {
            $0.storeBytes(of: byte, as: UInt8.self)
            return 1
        }
    }

    mutating func append(_ integer: UInt64) {
        append(upTo: 8) {
            $0.storeBytes(of: integer.bigEndian, as: UInt64.self)
            return 8
        }
    }

    mutating func append(_ content: UnsafeRawBufferPointer) {
        append(UInt64(content.count))
        append(upTo: content.count) { output in
            if let source = content.baseAddress { output.copyMemory(from: source, byteCount: content.count) }
            return content.count
        }
    }

    mutating func append(_ content: [UInt8]) { content.withUnsafeBytes { append($0) } }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }
}

private struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func integer() -> UInt64? {
        guard rest.count >= 8 else { return nil }
        defer { rest = rest.dropFirst(8) }
        return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func bytes() -> [UInt8]? {
        guard let count = integer(), count <= UInt64(rest.count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return Array(rest.prefix(Int(count)))
    }
}
