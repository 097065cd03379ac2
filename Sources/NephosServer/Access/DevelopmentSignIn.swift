import NephosService
import NephosWire

/// Sign-in by the rules of `nephos dev`. Any `ckAPIToken` is valid, even a missing one. `ckWebAuthToken=dev:NAME` (or
/// `ckSession`, its older name) signs in as the account NAME, which is created on first use.
enum DevelopmentSignIn {
    static let path = "/sign-in"
    static let tokenPrefix = "dev:"
    static let accountNameLength = 255

    /// Returns the name of the account; nil for a request without a token.
    static func account(_ target: RequestTarget) throws(Refusal) -> String? {
        guard let token = target.parameter("ckWebAuthToken") ?? target.parameter("ckSession") else { return nil }
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

    /// The page at the `redirectURL` that a request gets if it needs an account.
    static let page = """
        This is the local CloudKit. It signs in by name, without a password:
        add ckWebAuthToken=dev:NAME to the request's query, with any NAME.

        """
}
