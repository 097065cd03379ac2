import FoundationEssentials

/// An absolute http or https URL for requests.
struct WebAddress: Hashable, Sendable {
    /// The URL as it was given.
    var text: String
    var isSecure: Bool

    /// - Parameter subject: the purpose of the URL for error messages, such as "the web hook's URL".
    /// - Throws: `NotificationSetupError` for a URL that is not absolute, is not http or https, or has credentials, a
    ///   fragment or invalid characters.
    init(_ text: String, subject: String) throws(NotificationSetupError) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URLComponents(string: text) else {
            throw NotificationSetupError("\(subject) is not a URL: percent-encode what is not allowed in one")
        }
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw NotificationSetupError("\(subject) must begin with https:// or http://")
        }
        guard let host = url.host, !host.isEmpty else { throw NotificationSetupError("\(subject) names no host") }
        guard url.user == nil, url.password == nil else {
            throw NotificationSetupError("\(subject) must not hold a user name or password")
        }
        guard url.fragment == nil else { throw NotificationSetupError("\(subject) must not have a fragment (#…)") }
        if let port = url.port, !(1...65_535).contains(port) {
            throw NotificationSetupError("\(subject) has a port that does not exist")
        }
        self.text = text
        isSecure = scheme == "https"
    }
}
