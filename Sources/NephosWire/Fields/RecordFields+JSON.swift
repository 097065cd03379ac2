extension RecordFields {
    /// Decodes a record's `fields`: an object of field dictionaries.
    init(json: JSONValue) throws(WireError) {
        let members = try json.members("an object of fields")
        var entries: [Entry] = []
        entries.reserveCapacity(json.countHint)
        // Sorts the members' positions in the document, which are cheaper to move than decoded fields.
        for (key, value) in members.sortedByKey(about: json.countHint) {
            do throws(WireError) {
                entries.append(Entry(name: key.string, field: try Field(json: value)))
            } catch {
                throw WireError(path: error.path, reason: "field '\(WirePath.shortened(key.string))', \(error.reason)")
            }
        }
        self.init(entries)
    }

    /// Decodes a record's `fields`.
    package init(decoding bytes: UnsafeRawBufferPointer) throws(WireError) {
        self = try JSONDocument.parse(bytes) { (json) throws(WireError) in try RecordFields(json: json) }
    }

    /// Returns the fields in the form for storage and responses: ordered by name, each with its type, without cleared
    /// fields.
    package func encoded() -> EncodedFields { EncodedFields(bytes: encodedBytes()) }

    func encodedBytes() -> [UInt8] {
        var writer = JSONWriter(reserving: 64 * count + 64)
        writeStored(to: &writer)
        return writer.finish()
    }

    func writeStored(to writer: inout JSONWriter, numbersAsStrings: Bool = false) {
        writer.beginObject()
        for entry in entries { entry.writeStored(to: &writer, numbersAsStrings: numbersAsStrings) }
        writer.endObject()
    }

    /// Writes the fields for a request: writes cleared fields as null and omits undeclared types.
    func writeRequest(to writer: inout JSONWriter) {
        writer.beginObject()
        for entry in entries {
            writer.key(entry.name)
            entry.field.write(to: &writer, withType: entry.field.hasDeclaredType)
        }
        writer.endObject()
    }
}

extension RecordFields.Entry {
    /// Writes the name and the field with its type. Writes nothing for a cleared field.
    func writeStored(to writer: inout JSONWriter, numbersAsStrings: Bool = false) {
        guard field.value != nil else { return }
        writer.key(name)
        field.write(to: &writer, withType: true, numbersAsStrings: numbersAsStrings)
    }
}

extension Field {
    /// Writes the field dictionary.
    func write(to writer: inout JSONWriter, withType: Bool, numbersAsStrings: Bool = false) {
        writer.beginObject()
        writer.key("value")
        if case .sealed(let sealed)? = value {
            // The type's name shows that the value is encrypted, so `isEncrypted` is not written.
            writer.base64(sealed.bytes)
            writer.key("type")
            writer.plain(sealed.type.sealedWireName)
            writer.endObject()
            return
        }
        if let value {
            value.write(to: &writer, numbersAsStrings: numbersAsStrings)
            if withType {
                writer.key("type")
                writer.plain(value.type.staticWireName)
                value.writeSecondsBeyondMilliseconds(to: &writer)
            }
        } else {
            writer.null()
        }
        if isEncrypted {
            writer.key("isEncrypted")
            writer.bool(true)
        }
        writer.endObject()
    }
}
