/// Reads `PackedRecords` sequentially. The returned buffers point into the packed bytes and are valid as long as the
/// reader exists.
package struct PackedRecordsReader {
    package enum Entry {
        case record(Record)
        case deleted(name: UnsafeRawBufferPointer, type: Int)
        /// A record that the service cannot return. `reason` is the number of the text that contains the reason.
        case unreadable(name: UnsafeRawBufferPointer, reason: Int)
    }

    package struct Record {
        package var name: UnsafeRawBufferPointer
        /// The number of the text that contains the record type.
        package var type: Int
        package var changeTag: UnsafeRawBufferPointer
        package var created: Stamp
        package var modified: Stamp
        package var parent: UnsafeRawBufferPointer?
        package var share: UnsafeRawBufferPointer?
        /// The JSON of the record's fields.
        package var fields: UnsafeRawBufferPointer
    }

    package struct Stamp {
        /// The time in milliseconds since 1970.
        package var time: Int64
        package var user: Int
    }

    /// The texts read so far, to which entries refer by index.
    package private(set) var texts: [String] = []
    /// The owner of `bytes`, which keeps them valid.
    private let records: PackedRecords
    private let bytes: UnsafeRawBufferPointer
    private var index = 0

    package init(_ records: PackedRecords) {
        self.records = records
        bytes = records.bytes.buffer
    }

    /// Returns the next record; nil at the end.
    package mutating func next() throws(WireError) -> Entry? {
        while index < bytes.count {
            switch try byte() {
            case PackedRecords.Kind.text:
                texts.append(try string(try text()))
            case PackedRecords.Kind.deleted:
                return .deleted(name: try text(), type: try textNumber())
            case PackedRecords.Kind.unreadable:
                return .unreadable(name: try text(), reason: try textNumber())
            case PackedRecords.Kind.record:
                return .record(try record())
            default:
                throw damaged
            }
        }
        return nil
    }

    private mutating func record() throws(WireError) -> Record {
        let flags = try byte()
        let name = try text()
        let type = try textNumber()
        let tag = try text()
        let created = try stamp()
        return Record(
            name: name, type: type, changeTag: tag, created: created,
            modified: flags & PackedRecords.Flags.unmodified != 0 ? created : try stamp(),
            parent: flags & PackedRecords.Flags.parent != 0 ? try text() : nil,
            share: flags & PackedRecords.Flags.share != 0 ? try text() : nil, fields: try text())
    }

    private mutating func stamp() throws(WireError) -> Stamp {
        guard bytes.count - index >= 8 else { throw damaged }
        let time = Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: Int64.self))
        index += 8
        return Stamp(time: time, user: try textNumber())
    }

    private mutating func byte() throws(WireError) -> UInt8 {
        guard index < bytes.count else { throw damaged }
        defer { index += 1 }
        return bytes[index]
    }

    private mutating func count() throws(WireError) -> Int {
        var value = Int(try byte())
        guard value >= 0x80 else { return value }
        value &= 0x7F
        var shift = 7
        while true {
            let next = try byte()
            // No count in packed records exceeds 35 bits.
            guard shift < 35 else { throw damaged }
            value |= Int(next & 0x7F) << shift
            if next < 0x80 { return value }
            shift += 7
        }
    }

    private mutating func textNumber() throws(WireError) -> Int {
        let number = try count()
        guard number < texts.count else { throw damaged }
        return number
    }

    private mutating func text() throws(WireError) -> UnsafeRawBufferPointer {
        let count = try count()
        guard bytes.count - index >= count else { throw damaged }
        defer { index += count }
        return UnsafeRawBufferPointer(rebasing: bytes[index..<(index + count)])
    }

    /// Converts a text to a string. Throws if the text is not UTF-8.
    package func string(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> String {
        guard let string = String(utf8: bytes) else { throw damaged }
        return string
    }

    private var damaged: WireError {
        WireError(path: "", reason: "packed records are damaged before byte \(index) of \(bytes.count)")
    }
}
