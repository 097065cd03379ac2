/// What a row of `record` has of its record besides the name and the change sequence, in one column: a query reads a column
/// of many rows, and each costs it as much as a hundred bytes.
///
/// It begins with eight numbers in decimal digits, each with a space behind it: whether it is a tombstone (1 or 0), when and
/// by whom the record was made, when and by whom it was last written, the bytes of its type's name, and of its parent's and
/// its share's name, counted from 1, with 0 where there is none. These three names follow, and then the fields' JSON.
struct RecordContent {
    var isDeleted: Bool
    /// A decimal number, as the next but one.
    var createdAt: UnsafeRawBufferPointer
    var createdBy: Int64
    var modifiedAt: UnsafeRawBufferPointer
    var modifiedBy: Int64
    var type: UnsafeRawBufferPointer
    var parent: UnsafeRawBufferPointer?
    var share: UnsafeRawBufferPointer?
    var fields: UnsafeRawBufferPointer

    /// Reads it where it is; nil where it is not one.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard var scanner = Scanner(bytes) else { return nil }
        isDeleted = scanner.number() != 0
        createdAt = scanner.digits()
        createdBy = scanner.number()
        modifiedAt = scanner.digits()
        modifiedBy = scanner.number()
        let (type, parent, share) = (scanner.number(), scanner.number(), scanner.number())
        self.type = scanner.bytes(type)
        self.parent = parent == 0 ? nil : scanner.bytes(parent &- 1)
        self.share = share == 0 ? nil : scanner.bytes(share &- 1)
        fields = scanner.rest
        guard !scanner.hasFailed else { return nil }
    }

    /// The number of decimal digits, with a minus sign in front or not; nil where they are not one.
    @inline(__always)
    static func number(_ digits: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = digits.first == UInt8(ascii: "-")
        guard digits.count > (isNegative ? 1 : 0), digits.count < 21 else { return nil }
        var number: Int64 = 0
        for index in (isNegative ? 1 : 0)..<digits.count {
            let digit = digits[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number &* 10 &- Int64(digit)
        }
        return isNegative ? number : 0 &- number
    }

    static func encode(_ record: RecordRow) -> [UInt8] {
        func count(_ name: String?) -> Int { name.map { $0.utf8.count + 1 } ?? 0 }
        let numbers =
            "\(record.isDeleted ? 1 : 0) \(record.createdAt) \(record.createdBy) \(record.modifiedAt)"
            + " \(record.modifiedBy) \(record.type.utf8.count) \(count(record.parent)) \(count(record.share)) "
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            numbers.utf8.count + record.type.utf8.count + count(record.parent) + count(record.share)
                + record.fields.count)
        bytes += numbers.utf8
        bytes += record.type.utf8
        if let parent = record.parent { bytes += parent.utf8 }
        if let share = record.share { bytes += share.utf8 }
        bytes += record.fields
        return bytes
    }

    /// Reads numbers and names one after another. What does not fit makes it fail, and what it gives then means nothing, but
    /// lies within the bytes.
    private struct Scanner {
        private var next: UnsafeRawPointer
        private let end: UnsafeRawPointer
        private(set) var hasFailed = false

        init?(_ bytes: UnsafeRawBufferPointer) {
            guard let start = bytes.baseAddress else { return nil }
            next = start
            end = start + bytes.count
        }

        var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: next, count: end - next) }

        /// The digits of the number before the next space, which is taken too.
        @inline(__always)
        mutating func digits() -> UnsafeRawBufferPointer {
            let start = next
            // Thirteen, from the year 2001 to 2286: all of them in two words, which overlap.
            if end - start > 13, start.load(fromByteOffset: 13, as: UInt8.self) == UInt8(ascii: " ") {
                let words = (Self.others(in: Self.word(at: start)), Self.others(in: Self.word(at: start + 5)))
                if words.0 | words.1 == 0 {
                    next = start + 14
                    return UnsafeRawBufferPointer(start: start, count: 13)
                }
            }
            var mayBeOther: UInt64 = 0
            let word = word(&mayBeOther)
            if mayBeOther != 0 || word.isEmpty || word.count > 18, RecordContent.number(word) == nil {
                hasFailed = true
            }
            return word
        }

        /// What is before the next space, which is taken too.
        /// - Parameter other: gets bits where a byte of it is no digit.
        @inline(__always)
        private mutating func word(_ other: inout UInt64) -> UnsafeRawBufferPointer {
            let start = next
            // Eight bytes at a time: the high bit of each that is a space, and of no byte before the first.
            while end - next >= 8 {
                let word = Self.word(at: next)
                let bytes = word ^ 0x2020_2020_2020_2020
                let spaces = (bytes &- 0x0101_0101_0101_0101) & ~bytes & 0x8080_8080_8080_8080
                // Of the bytes before the first space.
                other |= Self.others(in: word) & (spaces & (0 &- spaces) &- 1)
                next += min(8, spaces.trailingZeroBitCount >> 3)
                if spaces != 0 { return took(from: start) }
            }
            // The last few are looked at one by one, also as a number.
            other = .max
            while next < end {
                if next.load(as: UInt8.self) == UInt8(ascii: " ") { return took(from: start) }
                next += 1
            }
            hasFailed = true
            return UnsafeRawBufferPointer(start: start, count: 0)
        }

        @inline(__always)
        private static func word(at place: UnsafeRawPointer) -> UInt64 {
            UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
        }

        /// The high bit of each byte that is no digit.
        @inline(__always)
        private static func others(in word: UInt64) -> UInt64 {
            let digits = word ^ 0x3030_3030_3030_3030
            return (digits &+ 0x7676_7676_7676_7676 | digits) & 0x8080_8080_8080_8080
        }

        @inline(__always)
        private mutating func took(from start: UnsafeRawPointer) -> UnsafeRawBufferPointer {
            defer { next += 1 }
            return UnsafeRawBufferPointer(start: start, count: next - start)
        }

        /// The number in the next word: most have a digit, or two.
        @inline(__always)
        mutating func number() -> Int64 {
            if end - next > 1, next.load(fromByteOffset: 1, as: UInt8.self) == UInt8(ascii: " ") {
                let digit = next.load(as: UInt8.self) &- UInt8(ascii: "0")
                if digit < 10 {
                    next += 2
                    return Int64(digit)
                }
            }
            var place = next
            var number: Int64 = 0
            while place < end {
                let digit = place.load(as: UInt8.self) &- UInt8(ascii: "0")
                place += 1
                if digit < 10 {
                    number = number &* 10 &+ Int64(digit)
                } else if digit == UInt8(ascii: " ") &- UInt8(ascii: "0"), place - next > 1 {
                    next = place
                    return number
                } else {
                    break
                }
            }
            return signedNumber()
        }

        private mutating func signedNumber() -> Int64 {
            var other: UInt64 = 0
            guard let number = RecordContent.number(word(&other)) else {
                hasFailed = true
                return 0
            }
            return number
        }

        @inline(__always)
        mutating func bytes(_ count: Int64) -> UnsafeRawBufferPointer {
            guard count >= 0, count <= end - next else {
                hasFailed = true
                return UnsafeRawBufferPointer(start: next, count: 0)
            }
            defer { next += Int(count) }
            return UnsafeRawBufferPointer(start: next, count: Int(count))
        }
    }
}
