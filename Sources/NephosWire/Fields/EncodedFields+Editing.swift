extension EncodedFields {
    /// Returns the fields with `changes` applied. A change with a value replaces the field of the same name, and a
    /// change to nil removes that field. All other fields keep their bytes. Undecodable bytes count as no fields.
    package func merging(_ changes: RecordFields) -> EncodedFields {
        guard !changes.isEmpty else { return self }
        let spliced = bytes.withUnsafeBytes { Self.splice(changes, into: $0) }
        return spliced ?? (canonical() ?? .empty).merging(changes)
    }

    /// The fields whose names are among `desiredKeys`.
    package func selecting(_ desiredKeys: [String]) -> EncodedFields { selecting(DesiredKeys(desiredKeys)) }

    /// The fields whose names are among `desiredKeys`.
    package func selecting(_ desiredKeys: DesiredKeys) -> EncodedFields {
        let selected = bytes.withUnsafeBytes { bytes in
            Self.select(from: bytes) { scanner, slice in
                desiredKeys.contains { scanner.order(of: slice, comparedTo: $0) }
            }
        }
        return selected ?? (canonical() ?? .empty).selecting(desiredKeys)
    }

    /// The fields with INT64, DOUBLE and TIMESTAMP values, and their lists, as strings (`numbersAsStrings` of CloudKit
    /// Web Services).
    package func withNumbersAsStrings() -> EncodedFields {
        guard let fields = try? decoded() else { return .empty }
        var writer = JSONWriter(reserving: bytes.count + 2 * fields.count)
        fields.writeStored(to: &writer, numbersAsStrings: true)
        return EncodedFields(bytes: writer.finish())
    }

    /// Returns every reference in the fields, with its field's name. Includes the elements of lists. If there is no
    /// reference, this costs one search of the bytes.
    package func references() -> [(name: String, reference: ReferenceValue)] {
        // In a string value, a backslash would precede the quote, so the mark matches only a field's type.
        let mark: StaticString = "\"REFERENCE"
        let selected = bytes.withUnsafeBytes { bytes -> EncodedFields? in
            guard contains(mark, in: bytes) else { return .empty }
            return Self.select(from: bytes) { _, slice in
                contains(mark, in: UnsafeRawBufferPointer(rebasing: bytes[slice.value]))
            }
        }
        guard let fields = try? (selected ?? self).decoded() else { return [] }
        return fields.references()
    }

    /// Returns the references whose action is not NONE. If there is none, this costs two searches of the bytes.
    package func bindingReferences() -> [(name: String, reference: ReferenceValue)] {
        let mayBind = bytes.withUnsafeBytes { bytes in
            contains("\"DELETE_SELF\"", in: bytes) || contains("\"VALIDATE\"", in: bytes)
        }
        return mayBind ? references().filter { $0.reference.action != .none } : []
    }

    /// The same fields in the form of `RecordFields.encoded()`; nil if they cannot be decoded.
    private func canonical() -> EncodedFields? { try? decoded().encoded() }

    /// Returns the fields for which `isSelected` returns true, byte for byte; nil for foreign bytes.
    private static func select(
        from bytes: UnsafeRawBufferPointer, where isSelected: (FieldScanner, FieldScanner.Slice) -> Bool
    ) -> EncodedFields? {
        var scanner = FieldScanner(bytes)
        var writer = JSONWriter(reserving: bytes.count)
        writer.beginObject()
        while let slice = scanner.next() {
            guard isSelected(scanner, slice) else { continue }
            writer.verbatim(UnsafeRawBufferPointer(rebasing: bytes[slice.whole]))
        }
        writer.endObject()
        return scanner.isForeign ? nil : EncodedFields(bytes: writer.finish())
    }

    private static func splice(_ changes: RecordFields, into bytes: UnsafeRawBufferPointer) -> EncodedFields? {
        var scanner = FieldScanner(bytes)
        var writer = JSONWriter(reserving: bytes.count + 64 * changes.count)
        var pending = changes.entries[...]
        writer.beginObject()
        while let slice = scanner.next() {
            var isReplaced = false
            while let change = pending.first {
                let order = change.name.withUTF8Bytes { scanner.order(of: slice, comparedTo: $0) }
                if order < 0 { break }
                change.writeStored(to: &writer)
                pending.removeFirst()
                isReplaced = order == 0
                if isReplaced { break }
            }
            if !isReplaced { writer.verbatim(UnsafeRawBufferPointer(rebasing: bytes[slice.whole])) }
        }
        for change in pending { change.writeStored(to: &writer) }
        writer.endObject()
        return scanner.isForeign ? nil : EncodedFields(bytes: writer.finish())
    }
}

extension RecordFields {
    /// Returns every reference in the fields, with its field's name. Includes the elements of lists.
    package func references() -> [(name: String, reference: ReferenceValue)] {
        var found: [(name: String, reference: ReferenceValue)] = []
        for entry in entries {
            switch entry.field.value {
            case .reference(let reference): found.append((entry.name, reference))
            case .list(of: .reference, let elements):
                for case .reference(let reference) in elements { found.append((entry.name, reference)) }
            default: break
            }
        }
        return found
    }
}
