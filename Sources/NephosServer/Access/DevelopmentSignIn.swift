import NephosService
import NephosWire

/// Sign-in by the rules of `nephos dev`. Any `ckAPIToken` is valid, even a missing one. The header `Authorization: Bearer
/// dev:NAME` or the parameter `ckWebAuthToken=dev:NAME` (or `ckSession`, its older name) signs in as the account NAME,
/// which is created on first use. If a request has both, they have to name the same account.
enum DevelopmentSignIn {
    static let path = "/sign-in"
    static let tokenPrefix = "dev:"
    static let accountNameLength = 255

    /// Returns the name of the account; nil for a request without a token.
    static func account(_ request: HTTPRequest, _ target: RequestTarget) throws(Refusal) -> String? {
        guard let header = request.authorization else { return try account(target) }
        let name = try account(authorization: header)
        guard let token = parameter(target) else { return name }
        guard token.readings.contains(where: { accountName(token: $0) == name }) else { throw differing }
        return name
    }

    /// Returns the name of the account in a header. Its token may have percent escapes, for characters that headers
    /// cannot carry.
    private static func account(authorization header: String) throws(Refusal) -> String {
        if var token = AuthorizationHeader.token(header).map(String.init),
            let decoded = token.withUTF8({ PercentEncoding.decode($0[...]) }), let name = accountName(token: decoded)
        {
            return name
        }
        throw Refusal(
            .authenticationFailed,
            "the header Authorization is not valid: nephos dev signs in by name with Authorization: Bearer dev:NAME, where "
                + "NAME is 1 to \(accountNameLength) printable characters, percent-encoded in UTF-8 where they are not "
                + "visible ASCII", clientCode: .notAuthenticated)
    }

    /// The refusal of a request that names two accounts.
    static let differing = Refusal(
        .authenticationFailed,
        "the header Authorization and the query of the request name different accounts: send one of them",
        clientCode: .notAuthenticated)

    private static func parameter(_ target: RequestTarget) -> RequestTarget.Parameter? {
        target.parameter("ckWebAuthToken") ?? target.parameter("ckSession")
    }

    /// Returns the name of the account in the query; nil for a query without a token.
    static func account(_ target: RequestTarget) throws(Refusal) -> String? {
        guard let token = parameter(target) else { return nil }
        for reading in token.readings {
            if let name = accountName(token: reading) { return name }
        }
        throw Refusal(
            .authenticationFailed,
            "the web auth token is not valid: nephos dev signs in by name with ckWebAuthToken=dev:NAME, where NAME is 1 "
                + "to \(accountNameLength) printable characters", clientCode: .notAuthenticated)
    }

    static func accountName(token: String) -> String? {
        guard token.utf8.starts(with: tokenPrefix.utf8) else { return nil }
        let name = String(Substring(token.utf8.dropFirst(tokenPrefix.utf8.count)))
        guard (1...accountNameLength).contains(name.unicodeScalars.count) else { return nil }
        return name.unicodeScalars.allSatisfy(isPrintable) ? name : nil
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: return false
        default: return true
        }
    }

    /// The text at the `redirectURL` of a request that no web page sent.
    static let page = """
        This is the local CloudKit. It signs in by name, without a password:
        give the request the header Authorization: Bearer dev:NAME, with any NAME,
        or add ckWebAuthToken=dev:NAME to its query.

        """
}
