import Glibc

/// Whatever goes wrong in a storage engine. The message is for the operator's log; it never reaches a client.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The engine was closed.
        case closed
        /// Another process has the data directory open.
        case inUse
        /// The store's tables are those of another version of Nephos.
        case otherVersion
        /// The file is not a store of ours, or it is damaged.
        case damaged
        /// The disk is full or the file could not be read or written.
        case inputOutput
        /// The answer to a commit was lost, so it is not known whether it happened.
        case unknownOutcome
        /// A lock could not be had in time; trying again may work.
        case busy
        /// A read took longer than any may.
        case tooLong
        /// A text that no store holds (`String.isStorable`): a fault of the client's.
        case text
        /// A constraint refused the write: a fault of the caller's.
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
    /// False for a text with a NUL, which PostgreSQL does not hold: no engine takes one, to store it or to look it up.
    package var isStorable: Bool { !utf8.contains(0) }
}

extension StorageError {
    /// What an engine throws for a text that is not storable.
    package static let unstorable = StorageError(.text, "a text holds a NUL, which no store keeps")
}
