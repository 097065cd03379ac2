import Glibc
import NephosHTTP
import NephosWire

/// The credentials with which a command signs in to a server, and the certificates of servers that it trusts.
struct ServerCredentials: Hashable {
    static let tokenOption = CommandOption(
        "--token-file", "FILE", "Sign in with the token in FILE. Default: NEPHOS_TOKEN")

    /// The token of the option or of `NEPHOS_TOKEN`; nil if there is none.
    var token: String?
    /// Whether `NEPHOS_TOKEN` is `none`, so that requests have no account.
    private(set) var isAnonymous = false
    /// Whether the token is that of `nephos login` to the administration.
    private(set) var isOfLogin = false
    /// The file of the certificates that are trusted, in `NEPHOS_CA_FILE`; nil for the system's.
    let certificates: String?
    /// The access token of a `nephos dev` beyond this machine, in `NEPHOS_ACCESS_TOKEN`; nil for none.
    let accessToken = CloudAddress.variable("NEPHOS_ACCESS_TOKEN")

    /// - Throws: `UsageError` if a file cannot be used, or if the token cannot be sent.
    init(_ arguments: Arguments) throws(UsageError) {
        certificates = CloudAddress.variable("NEPHOS_CA_FILE")
        if let certificates, let problem = CertificateFile.problem(certificates) {
            throw UsageError("NEPHOS_CA_FILE is \(certificates): \(problem).")
        }
        if let file = arguments[Self.tokenOption.name] {
            token = try Self.checked(try Self.line(of: file), from: file)
        } else if let text = CloudAddress.variable("NEPHOS_TOKEN") {
            isAnonymous = text == "none"
            token = isAnonymous ? nil : try Self.checked(text, from: "NEPHOS_TOKEN")
        } else if let url = arguments["--url"] ?? CloudAddress.variable("NEPHOS_URL") {
            let stored: StoredCredential?
            do throws(CredentialsFile.Failure) {
                stored = try LoginCommand.file.read().administration(server: CredentialsFile.server(url))
            } catch {
                throw UsageError("\(error.description).")
            }
            token = try stored.map { stored throws(UsageError) in try Self.checked(stored.token, from: "credentials") }
            isOfLogin = token != nil
        }
    }

    private init(token: String?) throws(UsageError) {
        try self.init(Arguments([], options: [], command: ""))
        (self.token, isAnonymous) = (token, token == nil)
    }

    /// No credentials.
    static var none: ServerCredentials { get throws(UsageError) { try ServerCredentials(token: nil) } }

    static func with(_ token: String) throws(UsageError) -> ServerCredentials { try ServerCredentials(token: token) }

    private static func checked(_ token: String, from place: String) throws(UsageError) -> String {
        guard AuthorizationHeader.value(token) != nil else {
            throw UsageError("the token in \(place) cannot be sent: a token is visible ASCII without spaces.")
        }
        return token
    }

    /// The maximum size of a token's file in bytes, which is more than any token has.
    private static let limit = 8192

    /// Returns the one line of a file with a secret.
    static func line(of path: String) throws(UsageError) -> String {
        let lines = try text(of: path).split(whereSeparator: \.isNewline)
        guard lines.count == 1 else {
            throw UsageError("\(path) is no token's file: it has one line, the token, of at most \(limit) bytes.")
        }
        return String(lines[0])
    }

    /// Returns the text of a small file.
    static func text(of path: String) throws(UsageError) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw unreadable(path) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var size = 0
        while size < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(file, $0.baseAddress.map { $0 + size }, $0.count - size)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path) }
            if count == 0 { break }
            size += count
        }
        guard size <= limit else { throw UsageError("\(path) is too large: it has at most \(limit) bytes.") }
        return String(decoding: bytes[..<size], as: UTF8.self)
    }

    private static func unreadable(_ path: String) -> UsageError {
        UsageError("the file \(path) cannot be read: \(String(cString: strerror(errno))).")
    }
}
