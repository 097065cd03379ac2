// The messages of a login of a program, which a person approves in a browser (as in RFC 8628).

/// The request of `/installation/logins/begin`.
package struct BeginLoginRequest: Codable, Hashable, Sendable {
    /// The program, for people.
    package var label: String?
    /// Whether the login is to the administration, and not to the container of an API token.
    package var administration: Bool?

    package init(label: String?, administration: Bool? = nil) {
        (self.label, self.administration) = (label, administration)
    }
}

/// A login that a program began.
package struct BegunLogin: Codable, Hashable, Sendable {
    /// The program's secret, with which it polls for the outcome.
    package var secret: String
    /// The code that a person types into a browser.
    package var code: String
    /// The time at which the login expires, in milliseconds since 1970.
    package var expires: Int64
    /// The number of seconds between two polls.
    package var interval: Int

    package init(secret: String, code: String, expires: Int64, interval: Int = 5) {
        (self.secret, self.code, self.expires, self.interval) = (secret, code, expires, interval)
    }
}

/// The request of `/installation/logins/poll`.
package struct PollLoginRequest: Codable, Hashable, Sendable {
    package var secret: String

    package init(secret: String) { self.secret = secret }
}

/// The answer of `/installation/logins/poll`.
package struct PollLoginResponse: Codable, Hashable, Sendable {
    package enum Status: String, Codable, Hashable, Sendable {
        case pending, denied, signedIn
    }

    package var status: Status
    /// The token of the session; nil unless the login was approved, as are the next three.
    package var ckWebAuthToken: String?
    package var account: String?
    /// The time at which the session expires, in milliseconds since 1970.
    package var expires: Int64?
    /// The container and environment of the session; nil for the administration.
    package var container: String?
    package var environment: String?

    package init(status: Status) { self.status = status }
}
