import CXXHash

/// An XXH3 hash over a sequence of values: a non-cryptographic checksum, which detects damage but not forgery.
package struct Checksum {
    package private(set) var value: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
        value = nephos_xxh3(bytes.baseAddress, bytes.count, 0)
    }

    package init(_ bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { Checksum($0) }
    }

    /// Adds the next value. The hash of the preceding values is the seed for the next one, so a byte that moves between
    /// values is detected.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        value = nephos_xxh3(bytes.baseAddress, bytes.count, value)
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }
}

// The checksum of a record covers its name, its change sequence and its content: all values that an answer reports.

extension Checksum {
    /// Starts the checksum with every value of a record except its texts, which the caller adds next. `texts` states
    /// whether the record has a parent and whether it has a share.
    fileprivate init(
        fields: UnsafeRawBufferPointer, isDeleted: Bool, numbers: (Int64, Int64, Int64, Int64, Int64),
        has texts: (Bool, Bool)
    ) {
        self.init(fields)
        let flags: Int64 = (isDeleted ? 1 : 0) | (texts.0 ? 2 : 0) | (texts.1 ? 4 : 0)
        let words = (
            flags.littleEndian, numbers.0.littleEndian, numbers.1.littleEndian, numbers.2.littleEndian,
            numbers.3.littleEndian, numbers.4.littleEndian
        )
        withUnsafeBytes(of: words) { add($0) }
    }

    /// The checksum as a signed integer, as databases store it.
    fileprivate var stored: Int64 { Int64(bitPattern: value) }
}

extension RecordRow {
    package var checksum: Int64 {
        var checksum = fields.withUnsafeBytes { fields in
            Checksum(
                fields: fields, isDeleted: isDeleted, numbers: (sequence, createdAt, createdBy, modifiedAt, modifiedBy),
                has: (parent != nil, share != nil))
        }
        checksum.add(name)
        checksum.add(type)
        if let parent { checksum.add(parent) }
        if let share { checksum.add(share) }
        return checksum.stored
    }
}

extension RecordRowView {
    var checksum: Int64 {
        var checksum = Checksum(
            fields: fields, isDeleted: isDeleted, numbers: (sequence, createdAt, createdBy, modifiedAt, modifiedBy),
            has: (parent != nil, share != nil))
        checksum.add(name)
        checksum.add(type)
        if let parent { checksum.add(parent) }
        if let share { checksum.add(share) }
        return checksum.stored
    }
}
