import Glibc
import NephosServer
import NephosWire

/// The log of a server on standard error: one line per request, and a banner of `nephos dev` before them. By default the
/// log of `nephos dev` is on only if standard error is a terminal, and that of `nephos serve` always. Standard output has
/// only the line that reports readiness.
struct DevLog {
    enum Format: String {
        case text, json, off
    }

    static let options = options(default: "text on a terminal, otherwise off")
    static let productionOptions = options(default: "text")

    private static func options(default format: String) -> [CommandOption] {
        [
            CommandOption(
                "--log", "FORMAT",
                """
                What to write about each request, on standard error: text, json (a line
                of JSON each, also for what else there is to say) or off. Each begins
                with its time, in UTC. Default: \(format)
                """),
            CommandOption("--quiet", nil, "Say nothing about requests, and nothing at the start but that it is ready."),
        ]
    }

    let format: Format
    let isQuiet: Bool
    /// The writer of the log, which must be flushed at the end. Otherwise the last lines are lost.
    let writer = LogWriter(STDERR_FILENO)
    private let isTerminal: Bool
    /// Whether the log has nothing that clients chose, such as names and paths: addresses and secrets may be among them.
    private let isProduction: Bool

    init(_ arguments: Arguments, isProduction: Bool = false) throws(UsageError) {
        self.isProduction = isProduction
        isTerminal = isatty(STDERR_FILENO) == 1
        isQuiet = arguments.has("--quiet")
        guard let text = arguments["--log"] else {
            format = (isTerminal || isProduction) && !isQuiet ? .text : .off
            return
        }
        guard !isQuiet else { throw UsageError("'--log' and '--quiet' exclude each other.") }
        guard let format = Format(rawValue: text) else {
            throw UsageError("'\(text)' is unknown: '--log' takes text, json or off.")
        }
        self.format = format
    }

    /// Returns the callback for answered requests; nil without a log.
    func observer() -> (@Sendable (AnsweredRequest) -> Void)? {
        let colours = showsColours
        switch format {
        case .off: return nil
        case .text:
            return { [writer, isProduction] in
                let entry = isProduction ? $0.withoutClientText : $0
                writer.write(entry.line(time: LogTime.now, colours: colours, showsRequestID: isProduction))
            }
        case .json:
            return { [writer, isProduction] in
                writer.write((isProduction ? $0.withoutClientText : $0).json(time: LogTime.now))
            }
        }
    }

    /// Returns the banner for a first start on a terminal; nil in any other case.
    /// - Parameter data: the path of the data directory; nil for a store in memory.
    func banner(port: UInt16, data: String?, inPostgreSQL: Bool = false, keepsKeys: Bool) -> String? {
        guard isTerminal, !isQuiet, format != .json else { return nil }
        let bold = { (text: String) in showsColours ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
        let url = "http://127.0.0.1:\(port)"
        let files = data.map { "\($0)  (erase it to begin anew)" } ?? "in memory, gone at the end"
        let place = inPostgreSQL ? "in PostgreSQL; the files of assets in \(data ?? "memory")" : files
        let keys =
            keepsKeys
            ? "of encrypted values are kept with the data, for every device" : "of encrypted values are the devices'"
        return """

              \(bold("Nephos \(Nephos.version)")), the local CloudKit

              address   \(bold(url))
              data      \(place)
              keys      \(keys)
              apps      NEPHOS_URL=\(url) NEPHOS_TOKEN=dev:NAME   sign in as NAME, who is made on first use
              requests  …?ckAPIToken=any&ckWebAuthToken=dev:NAME
              page      \(bold(url + "/"))  shows containers, accounts, records and the last requests
              stop      control-C


            """
    }

    /// Whether the log shows colours, by the `NO_COLOR` convention (no-color.org).
    private var showsColours: Bool {
        isTerminal && getenv("NO_COLOR") == nil && getenv("TERM").map { String(cString: $0) } != "dumb"
    }

    /// Writes a line that belongs to no request. It is written at once, because the process may end right afterwards.
    func note(_ message: String) {
        let (time, text) = (LogTime.now, message.printable(limit: Self.noteLength))
        switch format {
        case .text, .off: Console.warn("\(time) nephos: \(text)")
        case .json: Console.warn(LogTime.json(time, message: text))
        }
    }

    private static let noteLength = 4000
}
