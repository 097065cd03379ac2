/// "The data that a record stores must not exceed 1 MB. Assets don't count toward this limit" (`CKRecord`, Apple's
/// documentation). What counts is what is stored, whichever way it came.
enum RecordSize {
    static func check(_ size: Int, of name: String) throws(ServiceError) {
        if size > Limits.recordSize {
            throw .limitExceeded(
                "record '\(name)' holds \(size) bytes without its assets; at most"
                    + " \(Limits.recordSize) are allowed")
        }
    }
}
