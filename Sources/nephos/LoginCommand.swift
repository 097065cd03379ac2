import FoundationEssentials
import Glibc
import NephosHTTP
import NephosWire

/// `nephos login` and `nephos logout`: sign in to a server by a code that a person approves in any browser.
enum LoginCommand {
    private static let url = CommandOption("--url", "URL", "The server. Default: NEPHOS_URL")
    private static let apiToken = CommandOption(
        "--api-token", "TOKEN",
        """
        The API token of the container to sign in to. Default: NEPHOS_API_TOKEN;
        without one, the administration
        """)
    private static let label = CommandOption(
        "--name", "TEXT", "What to call this machine for people. Default: its host name")
    private static let forget = CommandOption(
        "--forget", nil,
        """
        Remove the credentials also if the server does not end their sessions, which
        go on until they expire.
        """)
    private static let helpOption = CommandOption("--help", nil, "Show this help.")
    private static let options = [url, apiToken, label, helpOption]
    private static let logoutOptions = [url, forget, helpOption]
    /// The number of polls in a row that may have no answer.
    private static let failuresInRow = 60

    static let help = """
        Sign in to a server, by a code that you approve in any browser.

        Usage: nephos login [OPTIONS]

        The credential goes to ~/.config/nephos/credentials.json (NEPHOS_CREDENTIALS),
        which you alone may read. The commands of nephos and the library, with that
        address in NEPHOS_URL, use it where no other token is given.

        Options:
        \(CommandOption.help(options))

        """

    static let logoutHelp = """
        End the sessions of nephos login at a server, and remove their credentials.

        Usage: nephos logout [OPTIONS]

        Options:
        \(CommandOption.help(logoutOptions))

        """

    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "login")
        let address = try address(arguments)
        let apiToken = arguments[apiToken.name] ?? CloudAddress.variable("NEPHOS_API_TOKEN")
        let connection = ServerConnection(address: address, try ServerCredentials.none)
        do {
            let query = apiToken.map { "?ckAPIToken=\($0)" } ?? ""
            let begun: BegunLogin = try post(
                connection, "begin\(query)",
                BeginLoginRequest(
                    label: arguments[label.name] ?? hostName, administration: apiToken == nil ? true : nil))
            Console.print("Open \(address.description)/login in any browser, and type the code \(begun.code)\n")
            let outcome = try poll(connection, begun)
            guard outcome.status == .signedIn, let token = outcome.ckWebAuthToken else {
                Console.fail("the login was denied.")
            }
            let credential = StoredCredential(
                server: CredentialsFile.server(address.description), container: outcome.container,
                environment: outcome.environment, apiToken: apiToken, token: token, account: outcome.account ?? "",
                expires: outcome.expires ?? 0)
            try file.update { all in
                all.removeAll { $0.isForSamePlace(as: credential) }
                all.append(credential)
            }
            let place = outcome.container.map { "\($0), \(outcome.environment ?? "")" } ?? "the administration"
            Console.print("signed in to \(place) as \(Console.printable(credential.account))\n")
        } catch {
            Console.fail("\(error)")
        }
    }

    static func logout(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(logoutHelp) }
        let arguments = try Arguments(arguments, options: logoutOptions, command: "logout")
        let address = try address(arguments)
        let server = CredentialsFile.server(address.description)
        do {
            let ended = try file.read().filter { $0.server == server }
            if ended.isEmpty { return Console.print("not signed in to \(address.description)\n") }
            // The session ends first: without the file nothing could end it.
            for credential in ended {
                guard let problem = try endSession(credential, at: address) else { continue }
                guard arguments.has(forget.name) else {
                    Console.fail("\(problem) '--forget' removes the credentials all the same.")
                }
                Console.note("a session goes on until it expires: \(problem)")
            }
            try file.update { $0.removeAll { $0.server == server } }
            Console.print("signed out of \(address.description)\n")
        } catch {
            Console.fail("\(error)")
        }
    }

    /// - Returns: the reason why the session may still be valid; nil if it has ended.
    private static func endSession(
        _ credential: StoredCredential, at address: ServerAddress
    ) throws(UsageError) -> String? {
        let connection = ServerConnection(address: address, try ServerCredentials.with(credential.token))
        do throws(ServerConnection.Failure) {
            let (status, _) = try connection.post("/nephos/1/installation/sessions/sign-out", Array("{}".utf8))
            // The server does not know the session, or not any more.
            return status == 200 || status == 401 ? nil : "the server answers with status \(status)."
        } catch {
            return error.description
        }
    }

    static var file: CredentialsFile { CredentialsFile(ProcessInfo.processInfo.environment) }

    private static func address(_ arguments: Arguments) throws(UsageError) -> ServerAddress {
        guard let text = arguments[url.name] ?? CloudAddress.variable("NEPHOS_URL") else {
            throw UsageError(
                "this needs '--url URL', the address of the server, such as --url https://cloud.example.org.")
        }
        return try ServerAddress(text)
    }

    /// Polls until the login is approved or denied, or its code is over. A poll without an answer is repeated.
    private static func poll(_ connection: ServerConnection, _ begun: BegunLogin) throws -> PollLoginResponse {
        var failures = 0
        while true {
            sleep(UInt32(max(1, min(begun.interval, 60))))
            do {
                let outcome: PollLoginResponse = try post(
                    connection, "poll", PollLoginRequest(secret: begun.secret))
                if outcome.status != .pending { return outcome }
                failures = 0
            } catch let failure as ServerConnection.Failure {
                failures += 1
                if failures == failuresInRow { throw failure }
            }
        }
    }

    private static func post<Answer: Decodable>(
        _ connection: ServerConnection, _ action: String, _ message: some Encodable
    ) throws -> Answer {
        let (status, body) = try connection.post(
            "/nephos/1/installation/logins/\(action)", [UInt8](try JSONEncoder().encode(message)))
        guard status == 200 else {
            let reason = (try? ErrorDictionary(decoding: body))?.reason ?? "the server answers with status \(status)"
            if status == 429 || status >= 500 { throw ServerConnection.Failure(description: reason) }
            throw Cloud.Failure(message: reason)
        }
        return try JSONDecoder().decode(Answer.self, from: Data(body))
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "nephos login" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
