import NephosWire

/// Encodes values so that their bytes, compared lexicographically, sort in the values' order. Encodings can be
/// concatenated: no encoding is a prefix of another encoding of its kind, so the first encodings that differ decide.
///
/// | value | bytes |
/// | --- | --- |
/// | none | `01` |
/// | string | `02`, its UTF-8 with `00` as `00 FF`, truncated to `stringLimit` bytes, then `00 01` |
/// | INT64, DOUBLE | `03`, the nearest double, then the remainder: both kinds compare as numbers, exactly |
/// | TIMESTAMP | `04`, its seconds as eight bytes |
/// | REFERENCE | `05`, the record name, encoded as a string |
/// | LOCATION | `06`, latitude and longitude |
enum OrderedBytes {
    /// The maximum number of bytes per string in an index. A longer string is found by its prefix of this length, then
    /// compared as a whole on the record. An entry of `Limits.fieldsPerIndex` strings and a record name stays below
    /// PostgreSQL's limit of 2,704 bytes.
    static let stringLimit = 256
    /// The maximum number of bytes per string that an order compares. A continuation marker contains as many.
    static let comparedLimit = 65_536

    enum Tag {
        static let missing: UInt8 = 0x01
        static let string: UInt8 = 0x02
        static let number: UInt8 = 0x03
        static let timestamp: UInt8 = 0x04
        static let reference: UInt8 = 0x05
        static let location: UInt8 = 0x06
    }

    /// A bound that is greater than every encoding and every complement: tags are neither `00` nor `FF`.
    static let end: [UInt8] = [0xFF]

    // MARK: - Values

    /// The sort key of a value in ascending order. Values without an order (a list, bytes, a location) sort with
    /// missing values. References sort by name.
    static func order(_ value: FieldValue?, limit: Int = stringLimit) -> [UInt8] {
        switch value {
        case .string(let text): string(text, tag: Tag.string, limit: limit)
        case .reference(let reference): string(reference.recordName, tag: Tag.string, limit: limit)
        case .int64(let number): integer(number)
        case .double(let number): double(number)
        case .timestamp(let time): [Tag.timestamp] + bigEndian(bits(time.seconds))
        default: [Tag.missing]
        }
    }

    /// The bytes that all values share that conditions treat as equal; nil for values that cannot be queried. Strings
    /// are folded by the rules of `QuerySemantics`.
    static func equality(_ value: FieldValue) -> [UInt8]? {
        switch value {
        case .string(let text): string(equalityText(text), tag: Tag.string)
        case .reference(let reference): string(reference.recordName, tag: Tag.reference)
        case .int64, .double, .timestamp: order(value)
        case .location(let location): [Tag.location] + coordinate(location.latitude) + coordinate(location.longitude)
        case .bytes, .asset, .list, .sealed: nil
        }
    }

    /// The form of a string for comparisons by equality, or more of its beginning than an index contains.
    static func equalityText(_ text: String) -> String {
        String(decoding: QuerySemantics.equalityForm(text, limit: stringLimit), as: UTF8.self)
    }

    /// The index form of a word from the tokenizer.
    static func token(_ token: String) -> [UInt8] { string(token, tag: Tag.string) }

    /// Whether the encoding contains the whole string. Only then is the encoding exact.
    static func isWhole(_ text: String) -> Bool { isWhole(count(text)) }

    /// At one byte below the limit an escaped `00` does not fit, so a longer string may have the same encoding.
    private static func isWhole(_ count: Int) -> Bool { count < stringLimit - 1 }

    /// Whether an index contains the whole of a queried prefix.
    static func holds(prefix: String) -> Bool { count(prefix) <= stringLimit }

    /// The length in bytes of the untruncated encoding. For a length above the limit, only some number above the limit.
    private static func count(_ text: String) -> Int {
        let count = text.utf8.count
        return count > stringLimit ? count : text.utf8.reduce(count) { $1 == 0 ? $0 + 1 : $0 }
    }

    /// The common prefix of the encodings of all strings that begin with the text.
    static func prefix(_ text: String) -> [UInt8] {
        var bytes = [Tag.string]
        append(text, to: &bytes)
        return bytes
    }

    static func string(_ text: String, tag: UInt8, limit: Int = stringLimit) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(text.utf8.count, limit) + 3)
        bytes.append(tag)
        append(text, to: &bytes, limit: limit)
        bytes.append(0x00)
        bytes.append(0x01)
        return bytes
    }

    private static func append(_ text: String, to bytes: inout [UInt8], limit: Int = stringLimit) {
        var text = text
        let end = bytes.count + limit
        text.withUTF8 { utf8 in
            for byte in utf8.prefix(limit) {
                if bytes.count + (byte == 0x00 ? 2 : 1) > end { break }
                bytes.append(byte)
                if byte == 0x00 { bytes.append(0xFF) }
            }
        }
    }

    /// Removes the first value of an ascending order from `rest` and appends the value's index form to `index`.
    /// - Returns: whether the index truncates the value, as it does with long strings.
    static func cutFirst(of rest: inout ArraySlice<UInt8>, to index: inout [UInt8]) -> Bool {
        guard let tag = rest.popFirst() else { return false }
        index.append(tag)
        switch tag {
        case Tag.string:
            var count = 0
            var isFull = false
            while let byte = rest.popFirst() {
                let isEscape = byte == 0x00
                let next = isEscape ? rest.popFirst() : nil
                if isEscape && next == 0x01 { break }
                count += isEscape ? 2 : 1
                isFull = isFull || count > stringLimit
                if isFull { continue }
                index.append(byte)
                if let next { index.append(next) }
            }
            index += [0x00, 0x01]
            return !isWhole(count)
        case Tag.number: move(10, from: &rest, to: &index)
        case Tag.timestamp: move(8, from: &rest, to: &index)
        default: break
        }
        return false
    }

    private static func move(_ count: Int, from rest: inout ArraySlice<UInt8>, to index: inout [UInt8]) {
        index += rest.prefix(count)
        rest = rest.dropFirst(count)
    }

    // MARK: - Numbers

    private static func integer(_ value: Int64) -> [UInt8] {
        let nearest = Double(value)
        // 2^63 is a double but not an Int64, so the difference is taken modulo 2^64.
        let whole = nearest >= 0x1p63 ? Int64.min : Int64(nearest)
        return number(nearest, rest: Int16(truncatingIfNeeded: value &- whole))
    }

    private static func double(_ value: Double) -> [UInt8] {
        value.isNaN ? [Tag.missing] : number(value, rest: 0)
    }

    private static func number(_ value: Double, rest: Int16) -> [UInt8] {
        let rest = UInt16(bitPattern: rest) ^ (1 << 15)
        return [Tag.number] + bigEndian(bits(value)) + [UInt8(rest >> 8), UInt8(truncatingIfNeeded: rest)]
    }

    /// Encodes a number as eight bytes in numeric order. Both zeros have the same bytes.
    static func coordinate(_ value: Double) -> [UInt8] { bigEndian(bits(value)) }

    static func coordinate(from bytes: ArraySlice<UInt8>) -> Double {
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bitPattern: bits >> 63 == 1 ? bits ^ (1 << 63) : ~bits)
    }

    private static func bits(_ value: Double) -> UInt64 {
        let bits = (value == 0 ? 0 : value).bitPattern
        return bits >> 63 == 1 ? ~bits : bits | (1 << 63)
    }

    static func bigEndian(_ value: UInt64) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    // MARK: - Ranges

    /// The least bytes that are greater than all bytes with the prefix `bytes`.
    static func successor(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        while let last = bytes.popLast() {
            if last < 0xFF {
                bytes.append(last + 1)
                return bytes
            }
        }
        return end
    }

    /// Encodes the bytes for the reverse order.
    static func complement(_ bytes: [UInt8]) -> [UInt8] { bytes.map { ~$0 } }
}

/// The encodings from `from` up to but excluding `to`. An encoding ends, or can continue, at both bounds.
struct ByteRange: Hashable {
    var from: [UInt8]
    var to: [UInt8]

    static let all = ByteRange(from: [], to: OrderedBytes.end)

    init(from: [UInt8], to: [UInt8]) {
        self.from = from
        self.to = to
    }

    /// The range of all encodings with the prefix `bytes`.
    init(prefix bytes: [UInt8]) {
        self.init(from: bytes, to: bytes.isEmpty ? OrderedBytes.end : OrderedBytes.successor(bytes))
    }

    var isEmpty: Bool { !from.lexicographicallyPrecedes(to) }

    func intersection(_ other: ByteRange) -> ByteRange {
        ByteRange(
            from: from.lexicographicallyPrecedes(other.from) ? other.from : from,
            to: to.lexicographicallyPrecedes(other.to) ? to : other.to)
    }

    /// The range of the complements of the encodings in this range.
    var complement: ByteRange {
        ByteRange(
            from: to == OrderedBytes.end ? [] : OrderedBytes.successor(OrderedBytes.complement(to)),
            to: from.isEmpty ? OrderedBytes.end : OrderedBytes.successor(OrderedBytes.complement(from)))
    }

    /// The range of the same encodings, each with the prefix `bytes`.
    func behind(_ bytes: [UInt8]) -> ByteRange {
        if bytes.isEmpty { return self }
        return ByteRange(
            from: bytes + from, to: to == OrderedBytes.end ? OrderedBytes.successor(bytes) : bytes + to)
    }
}
