package import FoundationEssentials

/// A moment with the precision of a `Date`. CloudKit Web Services sends whole milliseconds since 1970; the remainder is
/// sent beside them as `nephosSeconds`, our addition.
package struct Timestamp: Hashable, Sendable {
    /// Seconds since 2001-01-01T00:00:00Z, as in `Date`: the nearest double to the given value. Non-finite only if a
    /// program sets it so; such a moment is neither sent nor stored (`FieldValue.problem`).
    package let seconds: Double

    package init(_ date: Date) {
        seconds = date.timeIntervalSinceReferenceDate
    }

    /// - Parameter milliseconds: since 1970-01-01T00:00:00Z. Exact up to 69,000 years from there; beyond, rounded to
    ///   the nearest `Date`.
    package init(milliseconds: Int64) {
        seconds = Date(timeIntervalSince1970: Double(milliseconds) / 1000).timeIntervalSinceReferenceDate
    }

    /// The moment of a field dictionary. `seconds` counts only if it is the same moment: a client that does not know it
    /// changes only the value.
    init(milliseconds: Int64, seconds: Double?) {
        if let seconds {
            let exact = Timestamp(Date(timeIntervalSinceReferenceDate: seconds))
            if exact.milliseconds == milliseconds {
                self = exact
                return
            }
        }
        self.init(milliseconds: milliseconds)
    }

    /// The distance from 1970 in milliseconds within which every millisecond is exact.
    static let exactMilliseconds: UInt64 = 1 << 51

    package var date: Date { Date(timeIntervalSinceReferenceDate: seconds) }

    /// Whole milliseconds since 1970-01-01T00:00:00Z, rounded to the nearest.
    package var milliseconds: Int64 {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        // An unrepresentable date is clamped to the nearest one.
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    /// The seconds, if whole milliseconds are not exact; otherwise nil.
    var secondsBeyondMilliseconds: Double? {
        Timestamp(milliseconds: milliseconds).seconds == seconds ? nil : seconds
    }
}

extension Timestamp: Comparable {
    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.seconds < right.seconds }
}

extension Timestamp: ExpressibleByIntegerLiteral {
    /// Milliseconds since 1970.
    package init(integerLiteral milliseconds: Int64) { self.init(milliseconds: milliseconds) }
}

extension Timestamp: CustomStringConvertible {
    package var description: String { String(milliseconds) }
}
