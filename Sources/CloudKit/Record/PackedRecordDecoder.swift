import Foundation
import NephosWire

/// Decodes the records of one page of a change feed, in order. It creates recurring values only once: user IDs, record
/// types, keys.
struct PackedRecordDecoder {
    private var reader: PackedRecordsReader
    private let zoneID: CKRecordZone.ID
    private let currentUserRecordName: String?
    /// The cache of user IDs. The index is the number of the user name's text.
    private var users: [CKRecord.ID?] = []
    /// The cache of field names. The index is the number of the record type's text.
    private var shapes: [Shape] = []
    /// The last decoded reference. Consecutive records mostly refer to the same record.
    private var lastReference: (name: UnsafeRawBufferPointer, action: ReferenceValue.Action, made: CKRecord.Reference)?

    /// The field names of the last record of a type.
    private struct Shape {
        var names: [UnsafeRawBufferPointer] = []
        var keys: [CKRecord.FieldKey] = []
    }

    init(_ records: PackedRecords, zoneID: CKRecordZone.ID, currentUserRecordName: String?) {
        reader = PackedRecordsReader(records)
        self.zoneID = zoneID
        self.currentUserRecordName = currentUserRecordName
    }

    enum Change {
        case changed(CKRecord)
        /// A record whose fields the library or the service cannot decode.
        case unreadable(CKRecord.ID, WireError)
        case deleted(CKRecord.ID, CKRecord.RecordType)
    }

    /// Returns the next change; nil at the end. Throws if the packed records are damaged.
    mutating func next() throws(WireError) -> Change? {
        switch try reader.next() {
        case nil: return nil
        case .deleted(let name, let type): return .deleted(try recordID(name), reader.texts[type])
        case .unreadable(let name, let reason):
            return .unreadable(try recordID(name), WireError(path: "", reason: reader.texts[reason]))
        case .record(let record):
            let recordID = try recordID(record.name)
            let type = reader.texts[record.type]
            let metadata = try metadata(record)
            let parent = try record.parent.map { (name) throws(WireError) in try reference(name) }
            let fields: FieldTable
            do throws(WireError) {
                fields = try table(record.fields, type: record.type)
            } catch {
                return .unreadable(recordID, error)
            }
            let state = RecordState(metadata: metadata, fields: fields, parent: parent)
            return .changed(
                type == CKRecord.SystemType.share
                    ? CKShare(recordID: recordID, state: consume state)
                    : CKRecord(recordType: type, recordID: recordID, state: consume state))
        }
    }

    private func recordID(_ name: UnsafeRawBufferPointer) throws(WireError) -> CKRecord.ID {
        CKRecord.ID(unchecked: try reader.string(name), zoneID: zoneID)
    }

    /// Creates the reference to a record's parent or share.
    private func reference(_ name: UnsafeRawBufferPointer) throws(WireError) -> CKRecord.Reference {
        CKRecord.Reference(recordID: try recordID(name), action: .none)
    }

    private mutating func metadata(_ record: PackedRecordsReader.Record) throws(WireError) -> RecordMetadata {
        RecordMetadata(
            changeTag: try reader.string(record.changeTag),
            creationDate: Timestamp(milliseconds: record.created.time).date,
            creatorUserRecordID: user(record.created.user),
            modificationDate: Timestamp(milliseconds: record.modified.time).date,
            lastModifiedUserRecordID: user(record.modified.user), modifiedByDevice: nil,
            share: try record.share.map { (name) throws(WireError) in try reference(name) }, isKnownToServer: true)
    }

    private mutating func user(_ number: Int) -> CKRecord.ID {
        if number < users.count, let known = users[number] { return known }
        while users.count <= number { users.append(nil) }
        let made = CKRecord.ID(
            userRecordName: reader.texts[number], currentUserRecordName: currentUserRecordName)
        users[number] = made
        return made
    }

    // MARK: Fields

    private mutating func table(_ fields: UnsafeRawBufferPointer, type: Int) throws(WireError) -> FieldTable {
        while shapes.count <= type { shapes.append(Shape()) }
        if let table = readTable(fields, type: type) { return table }
        let decoded = try RecordFields(decoding: fields)
        return decoded.table(in: WireContext(zoneID: zoneID, currentUserRecordName: currentUserRecordName))
    }

    /// Decodes the fields in place; nil if they need the full decoder, `RecordFields`.
    private mutating func readTable(_ fields: UnsafeRawBufferPointer, type: Int) -> FieldTable? {
        var scanner = FieldScanner(fields)
        var values: [RecordField] = []
        values.reserveCapacity(shapes[type].keys.count)
        // This record's field names, collected once they differ from those of the last record.
        var names: [UnsafeRawBufferPointer] = []
        var differs = false
        while let token = scanner.nextToken() {
            let index = values.count
            if !differs, index >= shapes[type].names.count || !token.name.hasSameBytes(as: shapes[type].names[index]) {
                differs = true
                names = Array(shapes[type].names.prefix(index))
            }
            if differs { names.append(token.name) }
            guard let value = value(token.value) else { return nil }
            values.append(RecordField(value: value, isEncrypted: token.isEncrypted))
        }
        if scanner.isForeign { return nil }
        if !differs, values.count < shapes[type].names.count {
            differs = true
            names = Array(shapes[type].names.prefix(values.count))
        }
        if differs {
            var keys: [CKRecord.FieldKey] = []
            keys.reserveCapacity(names.count)
            for name in names {
                guard let key = String(utf8: name) else { return nil }
                keys.append(key)
            }
            guard FieldTable.areInOrder(keys) else { return nil }
            shapes[type] = Shape(names: names, keys: keys)
        }
        return FieldTable(sortedKeys: shapes[type].keys, values: values)
    }

    /// Converts a decoded value to a record's value; nil if it is invalid or needs the full decoder.
    private mutating func value(_ value: FieldScanner.Value) -> RecordValue? {
        switch value {
        case .string(let text): return String(utf8: text).map(RecordValue.string)
        case .int64(let number): return .int64(number)
        case .double(let number): return .double(number)
        case .timestamp(let time): return .date(time.date)
        case .sealed(let type, let text):
            return FieldScanner.decodedBase64(text).map { .sealed(SealedFieldValue(type: type, bytes: $0)) }
        case .bytes(let text): return FieldScanner.decodedBase64(text).map { .data(Data($0)) }
        case .strings(let texts):
            var elements: [RecordValue] = []
            elements.reserveCapacity(texts.count)
            for text in texts {
                guard let element = String(utf8: text) else { return nil }
                elements.append(.string(element))
            }
            return .list(elements)
        case .reference(let name, let action):
            if let lastReference, lastReference.action == action, lastReference.name.hasSameBytes(as: name) {
                return .reference(lastReference.made)
            }
            guard let recordName = String(utf8: name) else { return nil }
            let made = CKRecord.Reference(
                recordID: CKRecord.ID(unchecked: recordName, zoneID: zoneID),
                action: action == .deleteSelf ? .deleteSelf : .none)
            lastReference = (name, action, made)
            return .reference(made)
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }
}
