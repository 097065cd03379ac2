extension FieldValue {
    /// The asset, or the assets of a list.
    package var assets: [AssetValue] {
        switch self {
        case .asset(let value): return [value]
        case .list(of: .asset, let elements):
            return elements.compactMap { if case .asset(let value) = $0 { value } else { nil } }
        default: return []
        }
    }

    /// The value with its assets transformed; nil if it has none.
    package func mappingAssets<Failure: Error>(
        _ transform: (AssetValue) throws(Failure) -> AssetValue
    ) throws(Failure) -> FieldValue? {
        switch self {
        case .asset(let value): return .asset(try transform(value))
        case .list(of: .asset, let elements):
            var mapped: [FieldValue] = []
            mapped.reserveCapacity(elements.count)
            for case .asset(let value) in elements { mapped.append(.asset(try transform(value))) }
            return .list(of: .asset, mapped)
        default: return nil
        }
    }
}

extension EncodedFields {
    // Inside a string a backslash would precede the quote, so only a type matches.
    private static let mark: StaticString = "\"ASSETID"

    /// Every asset in the fields, elements of lists included, with its field's name. Costs one search of the bytes if
    /// there is none.
    package func assets() -> [(name: String, value: AssetValue)] {
        let mayHold = bytes.withUnsafeBytes { contains(Self.mark, in: $0) }
        guard mayHold, let fields = try? decoded() else { return [] }
        return fields.entries.flatMap { entry in
            (entry.field.value?.assets ?? []).map { (name: entry.name, value: $0) }
        }
    }

    /// The stored fields with their assets transformed. Costs one search of the bytes if there is none.
    package func mappingAssets(_ transform: (AssetValue) -> AssetValue) -> EncodedFields {
        let mayHold = bytes.withUnsafeBytes { contains(Self.mark, in: $0) }
        guard mayHold, var fields = try? decoded() else { return self }
        for entry in fields.entries {
            guard let mapped = entry.field.value?.mappingAssets(transform) else { continue }
            fields[entry.name] = Field(mapped, isEncrypted: entry.field.isEncrypted)
        }
        return fields.encoded()
    }

    /// Whether stored fields may contain an asset.
    package static func mayHoldAssets(_ bytes: UnsafeRawBufferPointer) -> Bool { contains(mark, in: bytes) }
}
