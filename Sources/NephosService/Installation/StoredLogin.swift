import NephosCrypto
import NephosStorage

/// A login that a person approves in a browser, by the hash of the program's secret (as in RFC 8628).
struct StoredLogin: StoredEntry {
    static let kind = InstallationEntry.Kind.login

    var container: String?
    var environment: String?
    /// The name of the API token; nil or empty for none.
    var app: String?
    /// The program, for people.
    var label: String
    /// The network of the program, for people.
    var network: String
    /// The store's token epoch in which it began. A restored database has another, in which it counts no more.
    var epoch: Int64
    /// The account that approved it; nil before.
    var account: String?
    /// The browser's session in which it was approved: a login ends with it, as a new password ends both.
    var session: String?
    var isDenied = false
    /// Whether its session lasts as that of a program; nil for true.
    var keepsSignedIn: Bool?
    var expiresAt: Int64
}

/// The login of a code, by the code's hash.
struct StoredLoginCode: StoredEntry {
    static let kind = InstallationEntry.Kind.loginCode
    var login: String
}

/// The code that a person copies from a program into a browser: eight consonants, which make no words, and 25 billion codes.
enum LoginCode {
    private static let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
    private static let length = 8

    static func make() -> String {
        let code = (0..<length).map { _ in letters[Int.random(in: letters.indices)] }
        return "\(String(code.prefix(length / 2)))-\(String(code.suffix(length / 2)))"
    }

    /// The hash of a code as a person typed it: in any case, with or without dashes and spaces. Nil for what is no code.
    static func hash(_ text: String) -> String? {
        let code = text.uppercased().filter { $0 != "-" && $0 != " " }
        guard code.count == length, code.allSatisfy(letters.contains) else { return nil }
        return SecretToken.hash(of: "login \(code)")
    }
}
