import NephosWire

/// The values of a record's entries in an index.
extension IndexSignature {
    /// The distinct values of a record's entries in this index; empty if a component has no value for the record.
    func entries(of record: QueryableRow) -> [[UInt8]] {
        guard let first = components.first else { return [[]] }
        var values = first.values(of: record)
        for component in components.dropFirst() where !values.isEmpty {
            let more = component.values(of: record)
            if values.count == 1, more.count == 1 {
                values[0] += more[0]
            } else {
                values = values.flatMap { value in more.map { value + $0 } }
            }
        }
        return values
    }
}

extension IndexComponent {
    /// The distinct values of a record for this component; empty if it has none.
    func values(of record: QueryableRow) -> [[UInt8]] {
        let value = key.value(in: record)
        switch kind {
        case .ascending: return [OrderedBytes.order(value)]
        case .descending: return [OrderedBytes.complement(OrderedBytes.order(value))]
        case .equality:
            guard let value else { return [] }
            guard case .list(_, let elements) = value else { return OrderedBytes.equality(value).map { [$0] } ?? [] }
            return Self.unique(elements.compactMap(OrderedBytes.equality))
        case .token: return (value.map { Tokenizer.tokens(of: $0) } ?? []).map(OrderedBytes.token)
        case .cell:
            guard case .location(let location) = value else { return [[OrderedBytes.Tag.missing]] }
            return [LocationCell.entry(location)]
        }
    }

    private static func unique(_ values: [[UInt8]]) -> [[UInt8]] {
        if values.count < 2 { return values }
        var seen: Set<[UInt8]> = []
        return values.filter { seen.insert($0).inserted }
    }
}
