import Glibc

/// A failure of a storage engine. The message is for the operator's log and never reaches a client.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The engine was closed.
        case closed
        /// Another process removed the store, or is removing it.
        case removed
        /// Another process has the data directory open.
        case inUse
        /// Another version of Nephos created the store's tables.
        case otherVersion
        /// The file is not a Nephos store, or is damaged.
        case damaged
        /// The disk is full, or the file could not be read or written.
        case inputOutput
        /// The answer to a commit was lost, so its outcome is unknown.
        case unknownOutcome
        /// A lock was not available in time. A retry may succeed.
        case busy
        /// A read exceeded its time limit.
        case tooLong
        /// The caller passed a text that no store accepts (`String.isStorable`). The client is at fault.
        case text
        /// A constraint of the database rejected the write. The caller is at fault.
        case constraint
        case other
    }

    package var code: Code
    package var message: String
    /// Whether a write failed for lack of disk space. Smaller ones, which need no new page, may go through meanwhile.
    package var isDiskFull = false

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates the error for the value `code` of `errno`.
    package init(system code: Int32, while action: String) {
        self.init(.inputOutput, "\(String(cString: strerror(code))), while \(action)")
        isDiskFull = code == ENOSPC || code == EDQUOT
    }

    /// Whether the caller has to open the store again.
    package var isOfClosedStore: Bool { code == .closed || code == .removed }

    package var description: String { "\(code): \(message)" }
}

extension String {
    /// Whether stores accept the text, for storage and for lookups; false for a text with a NUL, which PostgreSQL
    /// cannot store.
    package var isStorable: Bool {
        let holdsNUL = utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
        }
        return !(holdsNUL ?? utf8.contains(0))
    }
}

extension StorageError {
    /// The error that engines throw for a text that is not storable.
    package static let unstorable = StorageError(.text, "a text holds a NUL, which no store keeps")
}
