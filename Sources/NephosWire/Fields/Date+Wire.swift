package import FoundationEssentials

extension Date {
    /// Whole milliseconds since 1970, the precision of the service.
    package var wireMilliseconds: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        // A date that no clock will show is sent as the nearest one that can be.
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    package init(wireMilliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(wireMilliseconds) / 1000)
    }
}
