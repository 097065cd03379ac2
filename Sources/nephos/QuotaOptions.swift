import NephosService

/// The options that set the quotas of records.
struct QuotaOptions {
    static let options = [
        CommandOption(
            "--account-quota", "SIZE",
            """
            The records of an account in a container's environment, without files,
            or off. Default: 10GB
            """),
        CommandOption("--container-quota", "SIZE", "The same of its public database. Default: 100GB"),
    ]

    private let bytesPerAccount: Int64?
    private let bytesPerContainer: Int64?

    init(_ arguments: Arguments) throws(UsageError) {
        bytesPerAccount = try Self.size("--account-quota", arguments, 10 << 30)
        bytesPerContainer = try Self.size("--container-quota", arguments, 100 << 30)
    }

    private static func size(
        _ option: String, _ arguments: Arguments, _ standard: Int64
    ) throws(UsageError) -> Int64? {
        guard let text = arguments[option] else { return standard }
        return text == "off" ? nil : try SizeArgument.parse(text, option: option)
    }

    func apply(to configuration: inout ServiceConfiguration) {
        configuration.recordBytesPerAccount = bytesPerAccount
        configuration.recordBytesPerContainer = bytesPerContainer
    }
}
