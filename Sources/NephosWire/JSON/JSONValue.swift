/// A value of a parsed document: an index on simdjson's tape. It is valid only inside the closure of
/// `JSONDocument.parse`.
package struct JSONValue {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    let index: Int

    /// The types of values: the high byte of a tape word.
    enum Tag {
        static var object: UInt8 { 0x7B }
        static var array: UInt8 { 0x5B }
        static var string: UInt8 { 0x22 }
        static var int64: UInt8 { 0x6C }
        /// An integer above `Int64.max`.
        static var uint64: UInt8 { 0x75 }
        static var double: UInt8 { 0x64 }
        static var `true`: UInt8 { 0x74 }
        static var `false`: UInt8 { 0x66 }
        static var null: UInt8 { 0x6E }
    }

    var tag: UInt8 { UInt8(truncatingIfNeeded: tape[index] &>> 56) }

    /// The tape index after this value.
    var end: Int {
        switch tag {
        case Tag.object, Tag.array: Int(UInt32(truncatingIfNeeded: tape[index]))
        case Tag.int64, Tag.uint64, Tag.double: index + 2
        default: index + 1
        }
    }

    func at(_ index: Int) -> JSONValue { JSONValue(tape: tape, strings: strings, index: index) }

    var isNull: Bool { tag == Tag.null }
    var isObject: Bool { tag == Tag.object }
    var isArray: Bool { tag == Tag.array }
    /// The value itself; nil for `null`. `null` is equivalent to an absent key, except for `parent` and a field's
    /// value.
    var nonNull: JSONValue? { isNull ? nil : self }

    /// The bytes of a string. Valid only for a string.
    var text: JSONString {
        let start = strings + Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF)
        let count = UnsafeRawPointer(start).loadUnaligned(as: UInt32.self)
        return JSONString(start: start + 4, count: Int(count))
    }

    /// The bits of a number, from the tape word after the type. Valid only for a number.
    var numberBits: UInt64 { tape[index + 1] }

    /// The approximate number of elements of an array or object, for reserving memory. At most 512, a plausible size
    /// for a request.
    var countHint: Int { min(Int((tape[index] &>> 32) & 0xFF_FFFF), 512) }
}

/// The unescaped bytes of a string on the tape.
struct JSONString {
    let start: UnsafePointer<UInt8>
    let count: Int

    var string: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Whether more combining marks follow one another than in any language. `==` and hashes of `String` take the square
    /// of a run's length.
    var hasLongMarkRun: Bool {
        // The first mark is U+0300, whose first byte this is.
        guard bytes.contains(where: { $0 >= 0xcc }) else { return false }
        var marks = 0
        for scalar in string.unicodeScalars {
            marks = QuerySemantics.isCombiningMark(scalar) ? marks + 1 : 0
            if marks > QuerySemantics.longestMarkRun { return true }
        }
        return false
    }

    /// Returns whether this string's bytes sort before the bytes of `other`.
    func isBefore(_ other: JSONString) -> Bool {
        compareBytes(bytes, other.bytes) < 0
    }

    /// Compares bytes in a `switch` over keys.
    @inline(__always)
    static func ~= (pattern: StaticString, string: JSONString) -> Bool {
        string.count == pattern.utf8CodeUnitCount
            && equalBytes(string.start, pattern.utf8Start, pattern.utf8CodeUnitCount)
    }
}

/// The members of an object in the document's order. Of several members with one key, the last counts.
struct JSONMembers: Sequence, IteratorProtocol {
    private var position: JSONValue
    private let end: Int

    init(of object: JSONValue) {
        position = object.at(object.index + 1)
        end = object.end - 1
    }

    mutating func next() -> (key: JSONString, value: JSONValue)? {
        guard position.index < end else { return nil }
        let value = position.at(position.index + 1)
        defer { position = position.at(value.end) }
        return (position.text, value)
    }
}

extension JSONMembers {
    typealias Member = (key: JSONString, value: JSONValue)

    /// Returns the members ordered by their keys' UTF-8 bytes. The sort is stable.
    func sortedByKey(about count: Int) -> [Member] {
        var sorted: [Member] = []
        sorted.reserveCapacity(count)
        for member in self {
            // An object has few members, and they are often in order, so insertion sort is fast.
            var place = sorted.endIndex
            if sorted.count < Self.insertedOneByOne {
                while place > 0, member.key.isBefore(sorted[place - 1].key) { place -= 1 }
            }
            sorted.insert(member, at: place)
        }
        // Members beyond `insertedOneByOne` were appended in the document's order.
        if sorted.count > Self.insertedOneByOne { sorted.sort { $0.key.isBefore($1.key) } }
        return sorted
    }

    private static var insertedOneByOne: Int { 32 }
}

/// The elements of an array.
struct JSONElements: Sequence, IteratorProtocol {
    private var position: JSONValue
    private let end: Int

    init(of array: JSONValue) {
        position = array.at(array.index + 1)
        end = array.end - 1
    }

    mutating func next() -> JSONValue? {
        guard position.index < end else { return nil }
        defer { position = position.at(position.end) }
        return position
    }
}
