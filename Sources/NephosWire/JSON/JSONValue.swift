/// A value of a parsed document: a position on simdjson's tape. Valid only inside `JSONDocument.parse`'s closure.
package struct JSONValue {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    let index: Int

    /// The high byte of a tape word.
    enum Tag {
        static var object: UInt8 { 0x7B }
        static var array: UInt8 { 0x5B }
        static var string: UInt8 { 0x22 }
        static var int64: UInt8 { 0x6C }
        /// An integer over `Int64.max`.
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
    /// Nil for `null`, which is equivalent to an absent key everywhere but in `parent` and a field's value.
    var nonNull: JSONValue? { isNull ? nil : self }

    /// Of a string: its bytes.
    var text: JSONString {
        let start = strings + Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF)
        let count = UnsafeRawPointer(start).loadUnaligned(as: UInt32.self)
        return JSONString(start: start + 4, count: Int(count))
    }

    /// Of a number: the tape word after it.
    var numberBits: UInt64 { tape[index + 1] }

    /// Of an array or object: its approximate number of elements, for reserving memory; capped at a request's plausible
    /// size.
    var countHint: Int { min(Int((tape[index] &>> 32) & 0xFF_FFFF), 512) }
}

/// The bytes of a string on the tape, unescaped.
struct JSONString {
    let start: UnsafePointer<UInt8>
    let count: Int

    var string: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Whether its bytes sort before another's.
    func isBefore(_ other: JSONString) -> Bool {
        compareBytes(bytes, other.bytes) < 0
    }

    /// Makes a `switch` over keys compare bytes.
    @inline(__always)
    static func ~= (pattern: StaticString, string: JSONString) -> Bool {
        string.count == pattern.utf8CodeUnitCount
            && equalBytes(string.start, pattern.utf8Start, pattern.utf8CodeUnitCount)
    }
}

/// The members of an object in the document's order; of a duplicate key the last value counts.
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

    /// The members ordered by their keys' UTF-8 bytes; a stable sort.
    func sortedByKey(about count: Int) -> [Member] {
        var sorted: [Member] = []
        sorted.reserveCapacity(count)
        for member in self {
            // An object has few members, and they are often in order.
            var place = sorted.endIndex
            if sorted.count < Self.insertedOneByOne {
                while place > 0, member.key.isBefore(sorted[place - 1].key) { place -= 1 }
            }
            sorted.insert(member, at: place)
        }
        // Members beyond that number were appended in the document's order.
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
