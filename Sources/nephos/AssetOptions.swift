import NephosService

/// The options that set the size limits of files.
struct AssetOptions {
    static let options = [
        CommandOption("--asset-size", "SIZE", "The largest file of an asset: 500KB, 50MB, 5GB. Default: 50MB"),
        CommandOption("--asset-quota", "SIZE", "All files of a database together. Default: 10GB"),
    ]

    private var size = Limits.assetSize
    private var bytesPerDatabase = Limits.assetBytesPerDatabase

    /// - Throws: `UsageError` for an invalid size, and for a file limit above the allowed maximum.
    init(_ arguments: Arguments) throws(UsageError) {
        if let text = arguments["--asset-size"] {
            size = try SizeArgument.parse(text, option: "--asset-size")
            guard size <= Limits.largestAssetSize else {
                throw UsageError("'\(text)' is too large for '--asset-size': a file has at most 5GB.")
            }
        }
        if let text = arguments["--asset-quota"] {
            bytesPerDatabase = try SizeArgument.parse(text, option: "--asset-quota")
        }
    }

    func apply(to configuration: inout ServiceConfiguration) {
        configuration.assetSize = size
        configuration.assetBytesPerDatabase = bytesPerDatabase
    }
}

/// A number of bytes in a command line, as a whole number with a unit, such as `50MB`.
enum SizeArgument {
    private static let units: [(name: String, bytes: Int64)] = [
        ("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30), ("TB", 1 << 40),
    ]

    static func parse(_ text: String, option: String) throws(UsageError) -> Int64 {
        guard let unit = units.first(where: { text.hasSuffix($0.name) }), let count = Int64(text.dropLast(2)),
            count > 0, text.utf8.first != UInt8(ascii: "+")
        else {
            throw UsageError(
                "'\(text)' is no size: '\(option)' takes a whole number and KB, MB, GB or TB, for example \(option) 50MB."
            )
        }
        let (bytes, isTooLarge) = count.multipliedReportingOverflow(by: unit.bytes)
        guard !isTooLarge else { throw UsageError("'\(text)' is too large for '\(option)'.") }
        return bytes
    }
}
