import CloudKit

/// The cities after which time zones are named, with their places, as Debian's `tzdata` package lists them.
struct Places {
    struct City {
        /// `Asia/Hong_Kong`, which is also its record's name.
        var zone: String
        /// The countries that keep its time, its own first.
        var countries: [String]
        var location: CLLocation

        var name: String { (zone.split(separator: "/").last ?? "").replacingOccurrences(of: "_", with: " ") }
    }

    var cities: [City]

    init(file: URL) throws {
        cities = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let columns = line.split(separator: "\t").map(String.init)
            guard !line.hasPrefix("#"), columns.count >= 3, let location = Self.location(columns[1]) else { return nil }
            return City(
                zone: columns[2], countries: columns[0].split(separator: ",").map(String.init), location: location)
        }
    }

    /// `+2217+11409` or `-513518-0694203`: degrees, minutes and perhaps seconds, north and then east.
    private static func location(_ text: String) -> CLLocation? {
        guard let split = text.dropFirst().lastIndex(where: { $0 == "+" || $0 == "-" }),
            let latitude = degrees(text[..<split], digits: 2), let longitude = degrees(text[split...], digits: 3)
        else { return nil }
        return CLLocation(latitude: latitude, longitude: longitude)
    }

    private static func degrees(_ text: Substring, digits: Int) -> Double? {
        let number = text.dropFirst()
        guard let whole = Double(number.prefix(digits)), let minutes = Double(number.dropFirst(digits).prefix(2)) else {
            return nil
        }
        let seconds = Double(number.dropFirst(digits + 2)) ?? 0
        return (whole + minutes / 60 + seconds / 3600) * (text.hasPrefix("-") ? -1 : 1)
    }
}
