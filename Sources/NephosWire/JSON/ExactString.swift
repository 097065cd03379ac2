/// A string compared by its bytes, as in stores. `==` of `String` treats canonically equivalent strings as equal: "é"
/// in its two forms, and even "K" and the Kelvin sign. So in-memory keys that clients send are of this type, unless
/// they are checked to be ASCII.
package struct ExactString: Hashable, Sendable {
    package let string: String

    package init(_ string: String) { self.string = string }

    package func hash(into hasher: inout Hasher) { string.hashBytes(into: &hasher) }

    package static func == (left: ExactString, right: ExactString) -> Bool {
        left.string.hasSameBytes(as: right.string)
    }
}

extension String {
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Adds the bytes, where `hash(into:)` would normalise them, which takes the square of a run of combining marks.
    package func hashBytes(into hasher: inout Hasher) {
        var string = self
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xff as UInt8)
    }

    package var hasASCIIOnly: Bool { utf8.allSatisfy { $0 < 0x80 } }
}
