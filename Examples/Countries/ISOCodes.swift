import Foundation

/// The countries and subdivisions of the world, as Debian's `iso-codes` package lists them.
struct ISOCodes {
    struct Country: Decodable {
        var code: String
        var name: String
        var flag: String

        enum CodingKeys: String, CodingKey {
            case code = "alpha_2"
            case name, flag
        }
    }

    struct Subdivision: Decodable {
        /// `FR-IDF`: the country's code, a hyphen, the subdivision's own.
        var code: String
        var name: String
        var type: String

        var country: String { String(code.prefix(2)) }
    }

    var countries: [Country]
    var subdivisions: [Subdivision]

    init(directory: URL) throws {
        countries = try Self.read("iso_3166-1.json", "3166-1", in: directory)
        subdivisions = try Self.read("iso_3166-2.json", "3166-2", in: directory)
    }

    private static func read<Item: Decodable>(_ file: String, _ key: String, in directory: URL) throws -> [Item] {
        let data = try Data(contentsOf: directory.appending(path: file))
        return try JSONDecoder().decode([String: [Item]].self, from: data)[key] ?? []
    }
}
