/// Records of one zone in a form that our own library requests (WireProtocol, "Packed records"): the content of record
/// dictionaries in fewer bytes, readable sequentially without a parser.
///
/// The form is a sequence of entries, each with a type byte:
/// - `text`: a text. Texts are numbered 0, 1, 2… and other entries refer to them by number.
/// - `deleted`: the record's name, the number of its type.
/// - `unreadable`: the record's name, the number of the reason why the record is not available.
/// - `record`: flags, name, number of the type, change tag, creation stamp (time and user), modification stamp unless
///   `.unmodified`, the names of the record's parent and share if any, fields.
///
/// A text is the number of its UTF-8 bytes, then these bytes. Counts and numbers are varints, lowest bits first. Times
/// are milliseconds since 1970 in eight bytes, little-endian. Users are numbers of texts. The fields are the number of
/// bytes of their JSON, then the JSON.
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
        /// A flag: the record was not modified after its creation.
        static let unmodified: UInt8 = 4
    }
}

/// Appends records to `PackedRecords`.
package struct PackedRecordsWriter: ~Copyable {
    private var writer: JSONWriter
    /// The cache of the most recent texts with their numbers. The cache is small, because a page of records has few
    /// distinct texts.
    private var texts: [(text: JSONBytes, number: Int)] = []
    private var textCount = 0
    /// The maximum number of entries in the cache: with more, a lookup costs more than writing the text again.
    private static let textsKept = 16

    package init(reserving capacity: Int) { writer = JSONWriter(reserving: capacity) }

    /// The number of bytes written so far.
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

    /// Appends a record that the service cannot return.
    package mutating func unreadable(name: UnsafeRawBufferPointer, reason: String) {
        // A damaged name must still be encoded as UTF-8, so its invalid bytes are replaced.
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

    /// The maximum size of an encoded count in bytes.
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
