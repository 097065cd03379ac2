/// The change tag of a record: the record's change sequence in base 36. Change sequences are unique in a store and
/// monotonic, so every save gives a record a new tag (`recordChangeTag`, Apple's documentation).
enum ChangeTag {
    static func make(sequence: Int64) -> String {
        withBytes(sequence: sequence) { String(decoding: $0, as: UTF8.self) }
    }

    static func matches(_ tag: String, sequence: Int64) -> Bool {
        tag == make(sequence: sequence)
    }

    /// Passes the tag that `make` returns to `body`, in UTF-8. The bytes are valid only during the call.
    static func withBytes<Result>(
        sequence: Int64, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        // 13 digits are enough for 64 bits, and one byte is for the sign.
        try withUnsafeTemporaryAllocation(byteCount: 14, alignment: 1) { memory in
            var position = memory.count
            var rest = sequence.magnitude
            repeat {
                let digit = UInt8(truncatingIfNeeded: rest % 36)
                rest /= 36
                position -= 1
                memory[position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            } while rest > 0
            if sequence < 0 {
                position -= 1
                memory[position] = UInt8(ascii: "-")
            }
            return try body(UnsafeRawBufferPointer(rebasing: memory[position...]))
        }
    }
}
