import NephosWire

/// The size limit of a record: "The data that a record stores must not exceed 1 MB. Assets don't count toward this
/// limit" (`CKRecord`, Apple's documentation). The size is that of the stored data, in whatever form the data was sent.
enum RecordSize {
    static func check(_ fields: RecordFields, of name: String) throws(ServiceError) {
        let size = fields.storedSize
        if size <= Limits.recordSize { return }
        let largest = fields.largest.map { ", \($0.size) of them in field '\($0.name)'" } ?? ""
        throw .limitExceeded(
            "record '\(name)' holds \(size) bytes without its assets\(largest); at most \(Limits.recordSize) are allowed"
        )
    }
}
