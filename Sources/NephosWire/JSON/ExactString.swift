/// A string compared by its bytes, as in stores. `==` of `String` treats canonically equivalent strings as equal: "é"
/// in its two forms, and even "K" and the Kelvin sign. So in-memory keys from clients that are not checked ASCII have
/// this type.
package struct ExactString: Hashable, Sendable {
    package let string: String

    package init(_ string: String) { self.string = string }

    // Equal bytes have equal hashes as strings, so the synthesised hash serves.
    package static func == (left: ExactString, right: ExactString) -> Bool {
        left.string.hasSameBytes(as: right.string)
    }
}

extension String {
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    package var hasASCIIOnly: Bool { utf8.allSatisfy { $0 < 0x80 } }
}
