package import FoundationEssentials

/// A moment, as exact as a `Date` is. CloudKit Web Services sends whole milliseconds since 1970; what a date has beyond
/// them travels beside these as `nephosSeconds`, an addition of ours.
package struct Timestamp: Hashable, Sendable {
    /// Seconds since 2001-01-01T00:00:00Z, as `Date` counts: the nearest double to what was given. Not finite only where
    /// a program says so; no such moment is sent or stored (`FieldValue.problem`).
    package let seconds: Double

    package init(_ date: Date) {
        seconds = date.timeIntervalSinceReferenceDate
    }

    /// - Parameter milliseconds: since 1970-01-01T00:00:00Z. Up to 69,000 years from there each is kept as it is;
    ///   further away it becomes the nearest moment that a `Date` can be.
    package init(milliseconds: Int64) {
        seconds = Date(timeIntervalSince1970: Double(milliseconds) / 1000).timeIntervalSinceReferenceDate
    }

    /// A moment as a field dictionary has it. `seconds` counts only where it is the same moment: a client that
    /// does not know it changes the value alone.
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

    /// Within so many milliseconds of 1970 each is kept as it is.
    static let exactMilliseconds: UInt64 = 1 << 51

    package var date: Date { Date(timeIntervalSinceReferenceDate: seconds) }

    /// Whole milliseconds since 1970-01-01T00:00:00Z, rounded to the nearest.
    package var milliseconds: Int64 {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        // A date that no clock will show is sent as the nearest one that can be.
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    /// What the milliseconds do not say; nil where they say it all.
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
