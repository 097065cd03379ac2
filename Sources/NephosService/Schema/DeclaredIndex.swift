import NephosWire

/// Indexes of several fields, as a schema declares them: `INDEX (list, due DESC)`. Equality fields come first, then the
/// fields of the order, or one `NEAR` field, which orders by distance.
extension IndexSignature {
    /// The same index with the equality fields sorted by name, the form that queries look up.
    var canonical: IndexSignature {
        let count = components.prefix { $0.kind == .equality }.count
        return IndexSignature(components.prefix(count).sorted { $0.field < $1.field } + components.dropFirst(count))
    }

    /// The fields in parentheses, such as `(list, due DESC)`.
    var fieldList: String { String(SchemaPrinter.line(self).dropFirst(SchemaLexer.pragma.count + 7)) }

    /// The equality fields that precede `order`; nil if the index is not equality fields followed by that order.
    func equalities(before order: [IndexComponent]) -> ArraySlice<IndexComponent>? {
        let prefix = components.dropLast(order.count)
        guard components.suffix(order.count).elementsEqual(order), prefix.allSatisfy({ $0.kind == .equality }) else {
            return nil
        }
        return prefix
    }

    /// The reason that the record type cannot have the index; nil if it can.
    func problem(_ type: RecordTypeSchema) -> String? {
        if components.count < 2 { return "has one field, whose options are enough" }
        if components.count > Limits.fieldsPerIndex {
            return "has \(components.count) fields; at most \(Limits.fieldsPerIndex) are allowed"
        }
        for component in components {
            guard let field = component.schemaField(in: type) else {
                return "names '\(component.field)', which is no field of the type"
            }
            if components.count(where: { $0.key == component.key }) > 1 { return "names '\(component.field)' twice" }
            if let problem = component.problem(field) { return problem }
        }
        let equalities = components.prefix { $0.kind == .equality }
        if equalities.count > Limits.equalitiesPerIndex {
            return
                "has \(equalities.count) fields without ASC or DESC; at most \(Limits.equalitiesPerIndex) are allowed"
        }
        if equalities.count(where: { $0.schemaField(in: type)?.type.isList ?? false }) > 1 { return "has two lists" }
        let order = components.dropFirst(equalities.count)
        if order.contains(where: { $0.kind == .equality }) {
            return "has a field without ASC or DESC behind one with it: those come first"
        }
        if order.contains(where: { $0.kind == .cell }), order.count > 1 {
            return "has NEAR beside an order: the order by distance stands alone"
        }
        return nil
    }
}

extension IndexComponent {
    /// The schema language's keywords for the kinds of components. Equality has no keyword.
    static let written: [(kind: Kind, word: String)] = [(.ascending, "ASC"), (.descending, "DESC"), (.cell, "NEAR")]

    fileprivate func schemaField(in type: RecordTypeSchema) -> SchemaField? {
        switch key {
        // The schema cannot declare the fields `parent` and `share`: they are always QUERYABLE.
        case .system(.parent), .system(.share): SchemaField(SchemaType(.reference), .queryable)
        default: type.fields[field]
        }
    }

    /// The reason that an index cannot have this component of `field`; nil if it can.
    fileprivate func problem(_ field: SchemaField) -> String? {
        let needed: IndexOptions = kind == .equality ? .queryable : .sortable
        switch kind {
        case .token: return "cannot be declared"
        case .cell:
            if field.type.scalar != .location || field.type.isList {
                return "has '\(self.field)' NEAR, which is no LOCATION"
            }
            return field.indexes.isEmpty ? "has '\(self.field)', which is neither QUERYABLE nor SORTABLE" : nil
        case .equality, .ascending, .descending:
            if kind != .equality, field.type.scalar == .location {
                return "has the LOCATION '\(self.field)', which is ordered by distance: NEAR"
            }
            return field.indexes.contains(needed) ? nil : "has '\(self.field)', which is not \(needed.names[0])"
        }
    }
}
