/// A duration in a command line, as a whole number with a unit, such as `30d`.
enum DurationArgument {
    private static let units: [(name: Character, milliseconds: Int64)] = [
        ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000),
    ]

    /// - Returns: the duration in milliseconds.
    static func parse(_ text: String, option: String) throws(UsageError) -> Int64 {
        let digits = text.dropLast()
        guard let unit = units.first(where: { $0.name == text.last }), !digits.isEmpty,
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let count = Int64(digits)
        else {
            throw UsageError(
                "'\(text)' is no time: '\(option)' takes a number and s, m, h, d or w, for example \(option) 30d.")
        }
        let (milliseconds, isTooLong) = count.multipliedReportingOverflow(by: unit.milliseconds)
        guard !isTooLong else { throw UsageError("'\(text)' is too long a time for '\(option)'.") }
        return milliseconds
    }
}
