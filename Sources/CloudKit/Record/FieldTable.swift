/// A map from keys to a record's fields.
///
/// A record has few fields, and a fetch creates many records. Two arrays sorted by key are faster to create than a
/// dictionary, and smaller. Records of one fetch with the same keys share one array of keys.
struct FieldTable: Sendable {
    typealias Element = (key: CKRecord.FieldKey, value: RecordField)

    /// The fields' keys in ascending order, without duplicates.
    private(set) var keys: [CKRecord.FieldKey]
    private var values: [RecordField]

    /// - Parameter elements: the fields in any order, without duplicate keys.
    init(_ elements: [Element]) {
        var elements = elements
        // The service sends fields sorted by name, so the sort is seldom needed.
        if !Self.areInOrder(elements.map(\.key)) { elements.sort { $0.key < $1.key } }
        self.init(sortedKeys: elements.map(\.key), values: elements.map(\.value))
    }

    init(_ fields: [CKRecord.FieldKey: RecordField]) {
        self.init(fields.map { ($0.key, $0.value) })
    }

    /// - Parameters:
    ///   - sortedKeys: the keys in ascending order, without duplicates.
    ///   - values: the values of these keys, in their order.
    init(sortedKeys: [CKRecord.FieldKey], values: [RecordField]) {
        keys = sortedKeys
        self.values = values
    }

    /// Returns whether the keys are in ascending order, without duplicates.
    static func areInOrder(_ keys: [CKRecord.FieldKey]) -> Bool {
        keys.indices.dropFirst().allSatisfy { keys[$0 - 1] < keys[$0] }
    }

    /// Whether any field is encrypted.
    var hasEncrypted: Bool { values.contains { $0.isEncrypted } }

    subscript(key: CKRecord.FieldKey) -> RecordField? {
        get {
            let index = position(of: key)
            return index < keys.count && keys[index] == key ? values[index] : nil
        }
        set {
            let index = position(of: key)
            let isPresent = index < keys.count && keys[index] == key
            switch (newValue, isPresent) {
            case (let value?, true):
                values[index] = value
            case (let value?, false):
                keys.insert(key, at: index)
                values.insert(value, at: index)
            case (nil, true):
                keys.remove(at: index)
                values.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Returns the index of the key, or the index at which to insert the key.
    private func position(of key: CKRecord.FieldKey) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension FieldTable: RandomAccessCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { keys.count }
    subscript(position: Int) -> Element { (keys[position], values[position]) }
}
