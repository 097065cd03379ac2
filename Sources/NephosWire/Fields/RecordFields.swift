/// One entry of a record's `fields`: a value, or nil to clear the field.
package struct Field: Hashable, Sendable {
    package var value: FieldValue?
    /// Whether the sender declared the field's `type`. If not, the service converts the value to the schema's type.
    package var hasDeclaredType: Bool
    package var isEncrypted: Bool

    package init(_ value: FieldValue?, hasDeclaredType: Bool = true, isEncrypted: Bool = false) {
        self.value = value
        self.hasDeclaredType = hasDeclaredType
        self.isEncrypted = isEncrypted
    }
}

/// A record's fields, ordered by name, each name once.
package struct RecordFields: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var name: String
        package var field: Field
        package init(name: String, field: Field) {
            self.name = name
            self.field = field
        }
    }

    package private(set) var entries: [Entry]

    package init() { entries = [] }

    /// Sorts `entries` by name (UTF-8 order). Of several entries with one name, the last one wins.
    package init(_ entries: [Entry]) {
        guard let first = Self.firstOutOfOrder(in: entries) else {
            self.entries = entries
            return
        }
        if entries.count <= Self.insertedOneByOne {
            self.entries = Array(entries[..<first])
            self.entries.reserveCapacity(entries.count)
            for entry in entries[first...] { insert(entry) }
            return
        }
        self.entries = []
        self.entries.reserveCapacity(entries.count)
        // The sort is stable, so of several entries with one name the last given entry comes last.
        for entry in entries.sorted(by: { $0.name.utf8Order(comparedTo: $1.name) < 0 }) {
            if let last = self.entries.last, last.name.utf8Order(comparedTo: entry.name) == 0 {
                self.entries[self.entries.count - 1] = entry
            } else {
                self.entries.append(entry)
            }
        }
    }

    /// The maximum number of entries per list for which insertion sort is faster.
    private static let insertedOneByOne = 32

    /// Returns the index of the first entry whose name is not greater than the previous entry's name; nil if all are in
    /// order.
    private static func firstOutOfOrder(in entries: [Entry]) -> Int? {
        guard entries.count > 1 else { return nil }
        for index in 1..<entries.count
        where entries[index - 1].name.utf8Order(comparedTo: entries[index].name) >= 0 {
            return index
        }
        return nil
    }

    private mutating func insert(_ entry: Entry) {
        let (index, found) = position(of: entry.name)
        if found { entries[index] = entry } else { entries.insert(entry, at: index) }
    }

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }

    package subscript(name: String) -> Field? {
        get {
            let (index, found) = position(of: name)
            return found ? entries[index].field : nil
        }
        set {
            let (index, found) = position(of: name)
            switch (newValue, found) {
            case (let field?, true): entries[index].field = field
            case (let field?, false): entries.insert(Entry(name: name, field: field), at: index)
            case (nil, true): entries.remove(at: index)
            case (nil, false): break
            }
        }
    }

    private func position(of name: String) -> (index: Int, found: Bool) {
        // Names mostly arrive in order, so the search checks the end first.
        if let last = entries.last, last.name.utf8Order(comparedTo: name) < 0 { return (entries.count, false) }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            let order = entries[middle].name.utf8Order(comparedTo: name)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}
