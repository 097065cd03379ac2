import Glibc

/// Any failure of a storage engine. The message is for the operator's log; it never reaches a client.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The engine was closed.
        case closed
        /// Another process has the data directory open.
        case inUse
        /// Another version of Nephos made the store's tables.
        case otherVersion
        /// The file is not a Nephos store, or is damaged.
        case damaged
        /// The disk is full or the file could not be read or written.
        case inputOutput
        /// The answer to a commit was lost, so its outcome is unknown.
        case unknownOutcome
        /// A lock timed out; a retry may succeed.
        case busy
        /// A read exceeded the time limit.
        case tooLong
        /// A text that no store can hold (`String.isStorable`): the client's fault.
        case text
        /// A constraint refused the write: the caller's fault.
        case constraint
        case other
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error for `errno`.
    package init(system code: Int32, while action: String) {
        self.init(.inputOutput, "\(String(cString: strerror(code))), while \(action)")
    }

    package var description: String { "\(code): \(message)" }
}

extension String {
    /// False for a text with a NUL, which PostgreSQL cannot store: no engine accepts one, for storage or lookup.
    package var isStorable: Bool { !utf8.contains(0) }
}

extension StorageError {
    /// The error that engines throw for a text that is not storable.
    package static let unstorable = StorageError(.text, "a text holds a NUL, which no store keeps")
}
