import FoundationEssentials
import Glibc
import NephosHTTP
import NephosServer
import NephosService

/// The options about mail and about who makes accounts.
struct MailOptions {
    static let options = [
        CommandOption(
            "--mail-smtp", "URL",
            """
            Send mail through smtps://HOST:465, or smtp://HOST:587 with STARTTLS,
            without it only on this machine.
            """),
        CommandOption("--mail-user", "NAME", "Sign in to the mail server as NAME."),
        CommandOption("--mail-password-file", "FILE", "Its password, the first line of FILE."),
        CommandOption(
            "--mail-ca", "FILE", "The authorities of its certificate, in PEM. Default: the system's"),
        CommandOption("--mail-directory", "DIR", "Write mails into DIR instead, a file each."),
        CommandOption(
            "--mail-from", "SENDER", "The sender, such as 'App <no-reply@example.org>'. Needed for mail."),
        CommandOption("--mail-templates", "DIR", "Take texts of mails from DIR, such as recovery.txt."),
        CommandOption(
            "--sign-up", "WHO",
            """
            Who makes accounts besides administrators: open, who has an e-mail
            address; invitation, who has a link of an administrator; off. Default: off
            """),
    ]

    private enum Place {
        case server(SMTPServer)
        case directory(String)
    }

    let people: PeopleSettings
    private let place: Place?

    /// - Throws: `UsageError` for options that contradict each other, and for files that cannot be read.
    init(_ arguments: Arguments, _ url: PublicURL) throws(UsageError) {
        var people = PeopleSettings(url: url.text, serverName: url.host)
        place = try Self.place(arguments, ownName: url.host)
        if place != nil {
            guard let text = arguments["--mail-from"] else { throw UsageError("mail needs '--mail-from SENDER'.") }
            guard let sender = MailSender(text) else {
                throw UsageError(
                    "'\(Console.printable(text))' is no sender: '--mail-from' takes 'NAME <ADDRESS>' or an address.")
            }
            people.mail = PeopleSettings.Mail(
                sender: sender, templates: try MailTemplateFiles.read(arguments["--mail-templates"]))
        } else {
            for name in ["--mail-from", "--mail-templates"] where arguments.has(name) {
                throw UsageError("'\(name)' needs '--mail-smtp URL' or '--mail-directory DIR'.")
            }
        }
        if let text = arguments["--sign-up"] {
            guard let signUp = PeopleSettings.SignUp(rawValue: text) else {
                throw UsageError("'\(text)' is unknown: '--sign-up' takes open, invitation or off.")
            }
            if signUp == .open, place == nil {
                throw UsageError("'--sign-up open' needs mail: '--mail-smtp URL' or '--mail-directory DIR'.")
            }
            people.signUp = signUp
        }
        self.people = people
    }

    /// Where mails go; nil for a server that sends none.
    var outlet: MailOutlet? {
        switch place {
        case .server(let server): .smtp(server)
        case .directory(let path): .directory(path)
        case nil: nil
        }
    }

    /// What `nephos serve --check` says of mail; nil for a server that sends none.
    func finding() -> ServeCheck.Finding? {
        switch place {
        case .server(let server):
            return .note(
                "mail goes to \(server.url)\(server.requiresTLS ? "" : " without TLS"); it is not reached for a check")
        case .directory(let path):
            guard access(path, W_OK | X_OK) == 0 else {
                return .failed("this user may not write mails to \(path): \(String(cString: strerror(errno)))")
            }
            return .passed("mails are written to \(path)")
        case nil: return nil
        }
    }

    private static func place(_ arguments: Arguments, ownName: String) throws(UsageError) -> Place? {
        let ofServer = ["--mail-user", "--mail-password-file", "--mail-ca"]
        guard let text = arguments["--mail-smtp"] else {
            for name in ofServer where arguments.has(name) { throw UsageError("'\(name)' needs '--mail-smtp URL'.") }
            guard let path = arguments["--mail-directory"] else { return nil }
            var isDirectory = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory else {
                throw UsageError("'--mail-directory': there is no directory \(path).")
            }
            return .directory(path)
        }
        guard !arguments.has("--mail-directory") else {
            throw UsageError("'--mail-smtp' and '--mail-directory' exclude each other.")
        }
        guard arguments.has("--mail-user") == arguments.has("--mail-password-file") else {
            throw UsageError("'--mail-user' and '--mail-password-file' need each other.")
        }
        let (url, requiresTLS) = try self.url(text)
        let password = try arguments["--mail-password-file"].map { path throws(UsageError) in
            try Self.secret(path, option: "--mail-password-file")
        }
        if let path = arguments["--mail-ca"], let problem = CertificateFile.problem(path) {
            throw UsageError("'--mail-ca': \(path): \(problem).")
        }
        return .server(
            SMTPServer(
                url: url, requiresTLS: requiresTLS, user: arguments["--mail-user"], password: password,
                ownName: ownName,
                certificates: arguments["--mail-ca"], timeout: Int(Limits.mailTimeout)))
    }

    private static func url(_ text: String) throws(UsageError) -> (String, requiresTLS: Bool) {
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(), let host = url.host,
            scheme == "smtp" || scheme == "smtps", !host.isEmpty, url.percentEncodedPath.isEmpty || url.path == "/",
            url.query == nil, url.fragment == nil, url.user == nil, url.password == nil,
            (1...65_535).contains(url.port ?? 1)
        else {
            throw UsageError(
                "'--mail-smtp' takes smtps://HOST:PORT or smtp://HOST:PORT; the user is '--mail-user NAME', the "
                    + "password in '--mail-password-file FILE'.")
        }
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let authority = (name.contains(":") ? "[\(name)]" : name) + ":\(url.port ?? (scheme == "smtps" ? 465 : 587))"
        return ("\(scheme)://\(authority)", scheme == "smtps" || !IPAddress.isLoopback(host: name))
    }

    /// Returns the secret in the first line of a file.
    static func secret(_ path: String, option: String) throws(UsageError) -> String {
        let data = try file(path, option: option)
        let line = String(decoding: data, as: UTF8.self).prefix { !$0.isNewline }
        guard !line.isEmpty, line.utf8.count <= 1024 else {
            throw UsageError("'\(option)': the first line of \(path) is no password.")
        }
        return String(line)
    }

    static func file(_ path: String, option: String) throws(UsageError) -> Data {
        do {
            return try Data(contentsOf: URL(filePath: path))
        } catch {
            throw UsageError("'\(option)': \(path) cannot be read.")
        }
    }
}
