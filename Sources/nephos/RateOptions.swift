import NephosService

/// The options that set the rates of requests.
struct RateOptions {
    static let options = [
        CommandOption(
            "--account-rate", "N",
            """
            Requests a second of an account, and ten times as many at once, or off.
            Default: 1000
            """),
        CommandOption(
            "--token-rate", "N", "The same without a session, with one API token. Default: 10000"),
        CommandOption(
            "--address-rate", "N", "The same from an address, or an IPv6 /64. Default: 10000"),
    ]

    private(set) var rates = RequestRates()

    init(_ arguments: Arguments) throws(UsageError) {
        rates.perAccount = try Self.rate("--account-rate", arguments, rates.perAccount)
        rates.perAPIToken = try Self.rate("--token-rate", arguments, rates.perAPIToken)
        rates.perAddress = try Self.rate("--address-rate", arguments, rates.perAddress)
    }

    private static func rate(
        _ option: String, _ arguments: Arguments, _ standard: Int?
    ) throws(UsageError) -> Int? {
        guard let text = arguments[option] else { return standard }
        if text == "off" { return nil }
        guard let rate = Int(text), RequestRates.range.contains(rate) else {
            throw UsageError("'\(text)' is out of range: '\(option)' takes a number from 1 to 1000000, or off.")
        }
        return rate
    }
}
