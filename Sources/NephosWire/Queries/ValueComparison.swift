/// Compares field values for conditions and orders.
package enum ValueComparison {
    /// Compares two values: negative, zero or positive if `left` sorts before, with or after `right`; nil if the two
    /// have no order.
    ///
    /// Strings sort by their UTF-8 bytes, so upper case comes before lower case. INT64 and DOUBLE compare as numbers,
    /// exactly.
    package static func order(_ left: FieldValue, _ right: FieldValue) -> Int? {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.utf8Order(of: right)
        case (.int64(let left), .int64(let right)): order(left, right)
        case (.timestamp(let left), .timestamp(let right)): order(left, right)
        case (.double(let left), .double(let right)): order(left, right)
        case (.int64(let left), .double(let right)): order(left, right)
        case (.double(let left), .int64(let right)): -order(right, left)
        default: nil
        }
    }

    private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }

    /// Compares without rounding the integer, because 2^53 + 1 is not equal to any double.
    private static func order(_ left: Int64, _ right: Double) -> Int {
        if right >= 0x1p63 { return -1 }
        if right < -0x1p63 { return 1 }
        let whole = right.rounded(.down)
        let floor = Int64(whole)
        return left == floor ? (right > whole ? -1 : 0) : left < floor ? -1 : 1
    }

    /// Returns whether the record names and the zones of two references are equal. Ignores the action. A reference
    /// without a zone refers to a record in `zone`.
    static func areEqual(_ left: ReferenceValue, _ right: ReferenceValue, in zone: ZoneIDDictionary) -> Bool {
        guard left.recordName == right.recordName else { return false }
        return (left.zoneID ?? zone).isSame(as: right.zoneID ?? zone)
    }
}

extension String {
    /// Compares the UTF-8 bytes of two strings. `<` and `==` would treat canonically equivalent strings as equal.
    fileprivate func utf8Order(of other: String) -> Int {
        var left = self
        var right = other
        return left.withUTF8 { left in
            right.withUTF8 { right in
                for index in 0..<Swift.min(left.count, right.count) where left[index] != right[index] {
                    return left[index] < right[index] ? -1 : 1
                }
                return left.count - right.count
            }
        }
    }
}
