/// The fields of a record by their keys.
///
/// Records have few fields, and a fetch makes many records: an array in the order of the keys takes less time to make, and
/// less room, than a dictionary.
struct FieldTable: Sendable {
    typealias Element = (key: CKRecord.FieldKey, value: RecordField)

    private var elements: [Element] = []

    /// - Parameter elements: each key once, in any order.
    init(_ elements: [Element]) {
        self.elements = elements
        // A service sends fields in the order of their names.
        for index in elements.indices.dropFirst() where elements[index - 1].key >= elements[index].key {
            self.elements.sort { $0.key < $1.key }
            return
        }
    }

    init(_ fields: [CKRecord.FieldKey: RecordField]) {
        self.init(fields.map { ($0.key, $0.value) })
    }

    /// The keys, sorted.
    var keys: [CKRecord.FieldKey] { elements.map(\.key) }

    subscript(key: CKRecord.FieldKey) -> RecordField? {
        get {
            let index = position(of: key)
            return index < elements.count && elements[index].key == key ? elements[index].value : nil
        }
        set {
            let index = position(of: key)
            let isPresent = index < elements.count && elements[index].key == key
            switch (newValue, isPresent) {
            case (let value?, true): elements[index].value = value
            case (let value?, false): elements.insert((key, value), at: index)
            case (nil, true): elements.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Where the key is, or belongs.
    private func position(of key: CKRecord.FieldKey) -> Int {
        var low = 0
        var high = elements.count
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension FieldTable: RandomAccessCollection {
    var startIndex: Int { elements.startIndex }
    var endIndex: Int { elements.endIndex }
    subscript(position: Int) -> Element { elements[position] }
}
