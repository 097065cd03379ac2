/// The counts that arrays and maps of CBOR claim (RFC 8949 §3). libcbor allocates and clears memory for as many items as
/// an array claims, up to gigabytes for five bytes.
enum CBORCounts {
    /// - Returns: whether all arrays and maps together have a byte for each of their items, and each string its bytes.
    static func fit(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        var items: UInt64 = 0
        // What a container has follows its head, so that the heads are read one after another.
        while let head = rest.popFirst() {
            guard let value = argument(of: head, &rest) else { return false }
            switch head >> 5 {
            case 2, 3:
                guard value <= rest.count else { return false }
                rest.removeFirst(Int(value))
            case 4, 5:
                let claimed = head >> 5 == 4 ? value : value.multipliedReportingOverflow(by: 2).partialValue
                guard value <= rest.count, claimed <= rest.count else { return false }
                items += claimed
                // Nested arrays could each claim the whole rest.
                guard items <= bytes.count else { return false }
            default: break
            }
        }
        return true
    }

    /// - Returns: 0 for an indefinite length and a break; nil if the bytes end before or the form is reserved.
    private static func argument(of head: UInt8, _ rest: inout ArraySlice<UInt8>) -> UInt64? {
        switch head & 0x1f {
        case let value where value < 24: return UInt64(value)
        case let form where form < 28:
            let size = 1 << Int(form - 24)
            guard size <= rest.count else { return nil }
            defer { rest.removeFirst(size) }
            return rest.prefix(size).reduce(0) { $0 << 8 | UInt64($1) }
        case 31: return 0
        default: return nil
        }
    }
}
