package import FoundationEssentials

/// A moment with the precision of a `Date`. CloudKit Web Services sends whole milliseconds since 1970. A more precise
/// date is sent as seconds too, in `nephosSeconds`, our addition.
package struct Timestamp: Hashable, Sendable {
    /// The seconds since 2001-01-01T00:00:00Z, as in `Date`: the nearest double to the given value. The number is
    /// non-finite only if a program sets it so. Such a moment is neither sent nor stored (`FieldValue.problem`).
    package let seconds: Double

    package init(_ date: Date) {
        seconds = date.timeIntervalSinceReferenceDate
    }

    /// - Parameter milliseconds: the milliseconds since 1970-01-01T00:00:00Z. The moment is exact within 69,000 years
    ///   of 1970, and rounded to the nearest `Date` beyond.
    package init(milliseconds: Int64) {
        seconds = Date(timeIntervalSince1970: Double(milliseconds) / 1000).timeIntervalSinceReferenceDate
    }

    /// Creates the moment of a field dictionary. `seconds` is used only if it rounds to `milliseconds`: a client that
    /// does not know `nephosSeconds` changes only the milliseconds.
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

    /// The seconds since 2001, if whole milliseconds do not represent the moment exactly; otherwise nil.
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
