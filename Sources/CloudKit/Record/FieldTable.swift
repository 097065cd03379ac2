/// The fields of a record by their keys.
///
/// Records have few fields, and a fetch makes many records: two arrays in the order of the keys take less time to make,
/// and less room, than a dictionary. Records of one fetch that have the same keys share the one of the keys.
struct FieldTable: Sendable {
    typealias Element = (key: CKRecord.FieldKey, value: RecordField)

    /// Sorted, each once.
    private(set) var keys: [CKRecord.FieldKey]
    private var values: [RecordField]

    /// - Parameter elements: each key once, in any order.
    init(_ elements: [Element]) {
        var elements = elements
        // A service sends fields in the order of their names.
        if !Self.areInOrder(elements.map(\.key)) { elements.sort { $0.key < $1.key } }
        self.init(sortedKeys: elements.map(\.key), values: elements.map(\.value))
    }

    init(_ fields: [CKRecord.FieldKey: RecordField]) {
        self.init(fields.map { ($0.key, $0.value) })
    }

    /// - Parameters:
    ///   - sortedKeys: keys that are in order.
    ///   - values: the value of each.
    init(sortedKeys: [CKRecord.FieldKey], values: [RecordField]) {
        keys = sortedKeys
        self.values = values
    }

    /// Whether the keys are sorted and each is there once.
    static func areInOrder(_ keys: [CKRecord.FieldKey]) -> Bool {
        keys.indices.dropFirst().allSatisfy { keys[$0 - 1] < keys[$0] }
    }

    /// Whether a field is encrypted.
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

    /// Where the key is, or belongs.
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
