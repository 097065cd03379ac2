extension FieldValue {
    /// The assets in the value: the value itself, or the elements of a list. Empty for other types.
    package var assets: [AssetValue] {
        switch self {
        case .asset(let value): return [value]
        case .list(of: .asset, let elements):
            return elements.compactMap { if case .asset(let value) = $0 { value } else { nil } }
        default: return []
        }
    }

    /// Returns the value with its assets transformed; nil if the value contains no asset.
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
    // In a string value, a backslash would precede the quote, so the mark matches only a field's type.
    private static let mark: StaticString = "\"ASSETID"

    /// Returns every asset in the fields, with its field's name. Includes the elements of lists. If there is no asset,
    /// this costs one search of the bytes.
    package func assets() -> [(name: String, value: AssetValue)] {
        let mayHold = bytes.withUnsafeBytes { contains(Self.mark, in: $0) }
        guard mayHold, let fields = try? decoded() else { return [] }
        return fields.entries.flatMap { entry in
            (entry.field.value?.assets ?? []).map { (name: entry.name, value: $0) }
        }
    }

    /// Returns the stored fields with their assets transformed. If there is no asset, this costs one search of the
    /// bytes.
    package func mappingAssets(_ transform: (AssetValue) -> AssetValue) -> EncodedFields {
        let mayHold = bytes.withUnsafeBytes { contains(Self.mark, in: $0) }
        guard mayHold, var fields = try? decoded() else { return self }
        for entry in fields.entries {
            guard let mapped = entry.field.value?.mappingAssets(transform) else { continue }
            fields[entry.name] = Field(mapped, isEncrypted: entry.field.isEncrypted)
        }
        return fields.encoded()
    }

    /// Returns whether stored fields can contain an asset. Returns false only if they contain none.
    package static func mayHoldAssets(_ bytes: UnsafeRawBufferPointer) -> Bool { contains(mark, in: bytes) }
}
