/// Records of one zone in the form that our own library asks for (WireProtocol, "Packed records"): what a record
/// dictionary says, in fewer bytes, and readable from front to back without a parser.
///
/// It is a sequence of entries, each with a byte that says which:
/// - `text`: text. It is number 0, 1, 2… of these records' texts, which other entries refer to.
/// - `deleted`: name, number of the type.
/// - `unreadable`: name, number of the reason why the record cannot be given.
/// - `record`: flags, name, number of the type, change tag, when and by whom it was made, the same of its last change
///   unless `.unmodified`, the names of its parent and share where there are any, fields.
///
/// A text is its count of UTF-8 bytes and these. Counts and numbers take seven bits a byte, the lowest first, with the
/// high bit set in all bytes but the last. Times are milliseconds since 1970 in eight bytes, the lowest first; users are
/// numbers of texts. Fields are their count of bytes and their JSON.
package struct PackedRecords: Hashable, Sendable {
    package let bytes: JSONBytes

    package init(bytes: JSONBytes) { self.bytes = bytes }

    enum Kind {
        static let text: UInt8 = 1
        static let deleted: UInt8 = 2
        static let record: UInt8 = 3
        static let unreadable: UInt8 = 4
    }

    enum Flags {
        static let parent: UInt8 = 1
        static let share: UInt8 = 2
        /// The last change is the one that made the record.
        static let unmodified: UInt8 = 4
    }
}

/// Appends records to `PackedRecords`.
package struct PackedRecordsWriter: ~Copyable {
    private var writer: JSONWriter
    /// The texts that were written last, with their numbers: answers have few different ones.
    private var texts: [(text: JSONBytes, number: Int)] = []
    private var textCount = 0
    /// Beyond it, looking for a text costs more than writing it again.
    private static let textsKept = 16

    package init(reserving capacity: Int) { writer = JSONWriter(reserving: capacity) }

    /// Bytes so far.
    package var count: Int { writer.count }

    package consuming func finish() -> PackedRecords { PackedRecords(bytes: writer.finishInPlace()) }

    package mutating func deleted(name: UnsafeRawBufferPointer, type: UnsafeRawBufferPointer) {
        let type = number(of: type)
        writer.append(upTo: 1 + 2 * Self.longestCount + name.count) { start in
            var output = ByteOutput(start)
            output.byte(PackedRecords.Kind.deleted)
            output.text(name)
            output.count(type)
            return output.end - start
        }
    }

    /// A record that cannot be given.
    package mutating func unreadable(name: UnsafeRawBufferPointer, reason: String) {
        // The name may be what is damaged, and has to be UTF-8 nevertheless.
        let name = JSONBytes(Array(String(decoding: name, as: UTF8.self).utf8))
        let reason = JSONBytes(Array(reason.utf8))
        let textNumber = number(of: reason.buffer)
        writer.append(upTo: 1 + 2 * Self.longestCount + name.buffer.count) { start in
            var output = ByteOutput(start)
            output.byte(PackedRecords.Kind.unreadable)
            output.text(name.buffer)
            output.count(textNumber)
            return output.end - start
        }
    }

    package mutating func record(_ record: RecordDictionaryView) {
        let type = number(of: record.recordType)
        let creator = number(of: record.created.userRecordName)
        let modifier = number(of: record.modified.userRecordName)
        let isUnmodified =
            creator == modifier && record.created.time == record.modified.time
        var flags: UInt8 = isUnmodified ? PackedRecords.Flags.unmodified : 0
        if record.parent != nil { flags |= PackedRecords.Flags.parent }
        if record.share != nil { flags |= PackedRecords.Flags.share }
        let size =
            2 + 16 + 8 * Self.longestCount + record.recordName.count + record.recordChangeTag.count
            + record.fields.count
        let names = (record.parent?.count ?? 0) + (record.share?.count ?? 0)
        writer.append(upTo: size + names) { start in
            var output = ByteOutput(start)
            output.byte(PackedRecords.Kind.record)
            output.byte(flags)
            output.text(record.recordName)
            output.count(type)
            output.text(record.recordChangeTag)
            output.time(record.created.time)
            output.count(creator)
            if !isUnmodified {
                output.time(record.modified.time)
                output.count(modifier)
            }
            if let parent = record.parent { output.text(parent) }
            if let share = record.share { output.text(share) }
            output.text(record.fields)
            return output.end - start
        }
    }

    /// Bytes of the largest count.
    private static let longestCount = 10

    private mutating func number(of text: UnsafeRawBufferPointer) -> Int {
        for known in texts where known.text.buffer.count == text.count {
            if compareBytes(known.text.buffer, text) == 0 { return known.number }
        }
        writer.append(upTo: 1 + Self.longestCount + text.count) { start in
            var output = ByteOutput(start)
            output.byte(PackedRecords.Kind.text)
            output.text(text)
            return output.end - start
        }
        if texts.count == Self.textsKept { texts.removeFirst() }
        texts.append((JSONBytes(copying: text), textCount))
        textCount += 1
        return textCount - 1
    }
}

extension ByteOutput {
    @inline(__always)
    fileprivate mutating func count(_ count: Int) {
        var rest = UInt(bitPattern: count)
        while rest >= 0x80 {
            byte(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest &>>= 7
        }
        byte(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    fileprivate mutating func time(_ milliseconds: Int64) {
        withUnsafeBytes(of: milliseconds.littleEndian) { bytes($0) }
    }

    @inline(__always)
    fileprivate mutating func text(_ text: UnsafeRawBufferPointer) {
        count(text.count)
        bytes(text)
    }
}
