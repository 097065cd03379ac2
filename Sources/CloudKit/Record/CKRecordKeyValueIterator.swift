/// An iterator over a record's fields, sorted by key. It returns the fields that the record had when the iteration
/// began. Values have Swift's own types if there is one: numbers are `Int64` or `Double`.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    public typealias Element = (CKRecord.FieldKey, any CKRecordValueProtocol)

    private var fields: IndexingIterator<[(key: String, value: RecordValue)]>

    init(_ fields: [(key: String, value: RecordValue)]) {
        self.fields = fields.makeIterator()
    }

    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
        fields.next().map { ($0.key, $0.value.native) }
    }
}
