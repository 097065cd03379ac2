/// A string of an answer: a Swift string, or bytes in the store's memory.
protocol JSONText {
    /// The maximum encoded size of the string in bytes.
    var room: Int { get }
    func write(to output: inout ByteOutput)
}

extension String: JSONText {
    var room: Int { ByteOutput.room(string: utf8.count) }

    func write(to output: inout ByteOutput) {
        var text = self
        text.withUTF8 { output.string(UnsafeRawBufferPointer($0)) }
    }
}

private struct StoredText: JSONText {
    let bytes: UnsafeRawBufferPointer
    /// Whether the text needs no escapes in JSON, as identifiers and the service's own texts do not.
    var isPlain = true

    @inline(__always)
    var room: Int { isPlain ? bytes.count + 2 : ByteOutput.room(string: bytes.count) }

    @inline(__always)
    func write(to output: inout ByteOutput) { isPlain ? output.plain(bytes) : output.string(bytes) }
}

/// The user and time of a record's creation or modification.
struct RecordStamp<Text: JSONText> {
    /// The time in milliseconds since 1970.
    var time: Int64
    var userRecordName: Text
    /// Whether the device ID is `TimestampDictionary.anyDevice`.
    var hasAnyDevice = true
    /// The device ID, if it is not `TimestampDictionary.anyDevice`.
    var deviceID: Text?
}

extension RecordStamp {
    @inline(__always)
    fileprivate var room: Int { 64 + JSONDigits.most + userRecordName.room + (deviceID?.room ?? 0) }

    /// Writes the stamp as a member of the record's object.
    /// - Parameter name: the member's key.
    @inline(__always)
    fileprivate func write(_ name: StaticString, to output: inout ByteOutput) {
        output.text(name)
        output.text("{\"timestamp\":")
        output.int64(time)
        output.text(",\"userRecordName\":")
        userRecordName.write(to: &output)
        if hasAnyDevice {
            output.text(",\"deviceID\":\"2\"")
        } else if let device = deviceID {
            output.text(",\"deviceID\":")
            device.write(to: &output)
        }
        output.byte(UInt8(ascii: "}"))
    }
}

extension JSONWriter {
    /// Writes a record dictionary (CloudKit Web Services, Record Dictionary), its fields byte for byte.
    @inline(__always)
    mutating func record<Text: JSONText>(
        name: Text, type: Text, changeTag: Text, fields: UnsafeRawBufferPointer, created: RecordStamp<Text>?,
        modified: RecordStamp<Text>?, zoneID: ZoneIDDictionary?, parent: () -> ReferenceValue?,
        share: () -> ReferenceValue?, shortGUID: String? = nil, details: ShareDictionary? = nil
    ) {
        separate()
        let stamps = (created?.room ?? 0) + (modified?.room ?? 0)
        // Reserves all bounded members at once: a capacity check costs as much as a short member.
        append(upTo: 128 + name.room + type.room + changeTag.room + fields.count + stamps) { start in
            var output = ByteOutput(start)
            output.text("{\"recordName\":")
            name.write(to: &output)
            output.text(",\"recordType\":")
            type.write(to: &output)
            output.text(",\"recordChangeTag\":")
            changeTag.write(to: &output)
            output.text(",\"fields\":")
            output.bytes(fields)
            output.text(",\"pluginFields\":{},\"deleted\":false")
            created?.write(",\"created\":", to: &output)
            modified?.write(",\"modified\":", to: &output)
            return output.end - start
        }
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
        member("shortGUID", shortGUID)
        details?.writeMembers(to: &self)
        endObject()
    }
}

/// A stored record in the database's memory, which is written to an answer without the creation of Swift values.
package struct RecordDictionaryView {
    /// The time in milliseconds since 1970, and the user.
    package typealias Stamp = (time: Int64, userRecordName: UnsafeRawBufferPointer)

    package var recordName: UnsafeRawBufferPointer
    /// The record type. The type, the change tag and the user names need no escapes in JSON.
    package var recordType: UnsafeRawBufferPointer
    package var recordChangeTag: UnsafeRawBufferPointer
    /// The JSON of the record's fields.
    package var fields: UnsafeRawBufferPointer
    package var created: Stamp
    package var modified: Stamp
    /// The name of the parent record.
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

    /// - Parameter zoneID: the zone to write in the record's dictionary; nil to omit it.
    package func write(to writer: inout JSONWriter, zoneID: ZoneIDDictionary?) {
        func reference(_ name: UnsafeRawBufferPointer) -> ReferenceValue {
            ReferenceValue(recordName: String(decoding: name, as: UTF8.self))
        }
        func stamp(_ stamp: Stamp) -> RecordStamp<StoredText> {
            RecordStamp(time: stamp.time, userRecordName: StoredText(bytes: stamp.userRecordName))
        }
        writer.record(
            name: StoredText(bytes: recordName, isPlain: false), type: StoredText(bytes: recordType),
            changeTag: StoredText(bytes: recordChangeTag), fields: fields, created: stamp(created),
            modified: stamp(modified), zoneID: zoneID, parent: { parent.map(reference) },
            share: { share.map(reference) })
    }
}
