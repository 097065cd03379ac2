/// A string of an answer: one of Swift's, or its bytes where they are stored.
protocol JSONText {
    func write(to writer: inout JSONWriter)
}

extension String: JSONText {
    func write(to writer: inout JSONWriter) { writer.string(self) }
}

private struct StoredText: JSONText {
    let bytes: UnsafeRawBufferPointer
    /// Whether it needs no escapes, being an identifier or made by the service.
    var isPlain = true

    @inline(__always)
    func write(to writer: inout JSONWriter) { isPlain ? writer.plain(bytes) : writer.string(bytes) }
}

/// Who did something to a record, and when.
struct RecordStamp<Text: JSONText> {
    var timestamp: Int64
    var userRecordName: Text
    /// The device is `TimestampDictionary.anyDevice`.
    var hasAnyDevice = true
    /// The device where it is another.
    var deviceID: Text?
}

extension JSONWriter {
    /// Writes a record dictionary (CloudKit Web Services, Record Dictionary), its fields byte for byte.
    @inline(__always)
    mutating func record<Text: JSONText>(
        name: Text, type: Text, changeTag: Text, fields: UnsafeRawBufferPointer, created: RecordStamp<Text>?,
        modified: RecordStamp<Text>?, zoneID: ZoneIDDictionary?, parent: () -> ReferenceValue?,
        share: () -> ReferenceValue?
    ) {
        beginObject()
        append("\"recordName\":")
        name.write(to: &self)
        append(",\"recordType\":")
        type.write(to: &self)
        append(",\"recordChangeTag\":")
        changeTag.write(to: &self)
        append(",\"fields\":")
        verbatim(fields)
        append(",\"pluginFields\":{},\"deleted\":false")
        if let created { stamp(",\"created\":{\"timestamp\":", created) }
        if let modified { stamp(",\"modified\":{\"timestamp\":", modified) }
        if let zoneID {
            key("zoneID")
            zoneID.write(to: &self, withType: true)
        }
        if let parent = parent() {
            key("parent")
            parent.write(to: &self, withAction: false)
        }
        if let share = share() {
            key("share")
            share.write(to: &self, withAction: false)
        }
        endObject()
    }

    /// - Parameter beginning: everything up to the time.
    @inline(__always)
    private mutating func stamp<Text: JSONText>(_ beginning: StaticString, _ stamp: RecordStamp<Text>) {
        append(beginning)
        int64(stamp.timestamp)
        append(",\"userRecordName\":")
        stamp.userRecordName.write(to: &self)
        if stamp.hasAnyDevice {
            append(",\"deviceID\":\"2\"")
        } else if let device = stamp.deviceID {
            append(",\"deviceID\":")
            device.write(to: &self)
        }
        endObject()
    }
}

/// A stored record where it is in memory, to be written into an answer: nothing of it becomes a value of Swift's.
package struct StoredRecordBytes {
    package typealias Stamp = (timestamp: Int64, userRecordName: UnsafeRawBufferPointer)

    package var recordName: UnsafeRawBufferPointer
    /// This, the change tag and users' names have nothing that JSON would escape.
    package var recordType: UnsafeRawBufferPointer
    package var recordChangeTag: UnsafeRawBufferPointer
    /// The fields' JSON.
    package var fields: UnsafeRawBufferPointer
    package var created: Stamp
    package var modified: Stamp
    /// A record's name.
    package var parent: UnsafeRawBufferPointer?
    package var share: UnsafeRawBufferPointer?

    package init(
        recordName: UnsafeRawBufferPointer, recordType: UnsafeRawBufferPointer,
        recordChangeTag: UnsafeRawBufferPointer, fields: UnsafeRawBufferPointer, created: Stamp, modified: Stamp,
        parent: UnsafeRawBufferPointer? = nil, share: UnsafeRawBufferPointer? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.fields = fields
        self.created = created
        self.modified = modified
        self.parent = parent
        self.share = share
    }

    /// - Parameter zoneID: the zone, where the record is to name it.
    package func write(to writer: inout JSONWriter, zoneID: ZoneIDDictionary?) {
        func reference(_ name: UnsafeRawBufferPointer) -> ReferenceValue {
            ReferenceValue(recordName: String(decoding: name, as: UTF8.self))
        }
        func stamp(_ stamp: Stamp) -> RecordStamp<StoredText> {
            RecordStamp(timestamp: stamp.timestamp, userRecordName: StoredText(bytes: stamp.userRecordName))
        }
        writer.record(
            name: StoredText(bytes: recordName, isPlain: false), type: StoredText(bytes: recordType),
            changeTag: StoredText(bytes: recordChangeTag), fields: fields, created: stamp(created),
            modified: stamp(modified), zoneID: zoneID, parent: { parent.map(reference) },
            share: { share.map(reference) })
    }
}
