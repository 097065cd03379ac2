/// A string as stores compare it: by its bytes. `==` of `String` takes canonically equivalent strings for one, "é" in its
/// two forms and even "K" and the Kelvin sign. So keys in memory that clients give, and that are no checked ASCII, are
/// these.
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
