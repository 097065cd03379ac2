/// A line of an account's export for what could not be read: a field's file, a record, or the rest of a database.
package struct ExportedDamage: Hashable, Sendable {
    /// The zone; nil for the rest of a database.
    package var zoneName: String?
    package var recordName: String?
    /// The field whose file is lost; nil for the whole record.
    package var fieldName: String?
    package var reason: String

    package init(zoneName: String? = nil, recordName: String? = nil, fieldName: String? = nil, reason: String) {
        self.zoneName = zoneName
        self.recordName = recordName
        self.fieldName = fieldName
        self.reason = reason
    }

    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("zoneName", zoneName)
        writer.member("recordName", recordName)
        writer.member("fieldName", fieldName)
        writer.member("reason", reason)
        writer.endObject()
        return writer.finish()
    }
}

/// A line of an account's export for the fields of a record that only the account's devices can decrypt, as stored.
package struct EncryptedLine: Hashable, Sendable {
    package var zoneName: String
    package var recordName: String
    package var recordType: String
    package var fields: RecordFields

    package init(zoneName: String, recordName: String, recordType: String, fields: RecordFields) {
        self.zoneName = zoneName
        self.recordName = recordName
        self.recordType = recordType
        self.fields = fields
    }

    package func encoded() -> [UInt8] {
        var writer = JSONWriter(reserving: 64 * fields.count + 256)
        writer.beginObject()
        writer.member("zoneName", zoneName)
        writer.member("recordName", recordName)
        writer.member("recordType", recordType)
        writer.key("fields")
        fields.writeStored(to: &writer)
        writer.endObject()
        return writer.finish()
    }
}

extension RecordFields {
    /// The fields that are encrypted, or have a sealed file.
    package var encryptedOrSealed: RecordFields {
        RecordFields(
            entries.filter { entry in
                entry.field.isEncrypted || entry.field.value?.assets.contains { $0.seal != nil } ?? false
            })
    }
}
