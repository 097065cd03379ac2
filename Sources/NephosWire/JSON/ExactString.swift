/// A string compared by its bytes, as in stores. `==` of `String` treats canonically equivalent strings as equal: "é"
/// in its two forms, and even "K" and the Kelvin sign. So in-memory keys that clients send are of this type, unless
/// they are checked to be ASCII.
package struct ExactString: Hashable, Sendable {
    package let string: String

    package init(_ string: String) { self.string = string }

    // Strings with equal bytes have equal hashes, so the synthesised hash is correct.
    package static func == (left: ExactString, right: ExactString) -> Bool {
        left.string.hasSameBytes(as: right.string)
    }
}

extension String {
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    package var hasASCIIOnly: Bool { utf8.allSatisfy { $0 < 0x80 } }
}
