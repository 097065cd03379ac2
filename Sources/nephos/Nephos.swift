import Glibc
import NephosServer
import NephosWire

/// The command line: `nephos COMMAND [OPTIONS]`.
@main
struct Nephos {
    static let version = "0.1.0"

    static var help: String {
        let width = (NephosCommand.all.map(\.name.count).max() ?? 0) + 2
        let entries =
            NephosCommand.all.map { ($0.name, $0.summary) } + [
                ("help", "Show this help, or a command's: nephos help COMMAND."), ("version", "Show the version."),
            ]
        let commands = entries.map { "  \($0.0)\(String(repeating: " ", count: width - $0.0.count))\($0.1)\n" }
        return """
            nephos \(version): CloudKit that anyone can run

            Usage: nephos COMMAND [OPTIONS]

            Commands:

            """ + commands.joined() + """

                Options:
                  --help     Show this help; after a command, the command's.
                  --version  Show the version.

                """
    }

    static func main() {
        // The reader of our output may go away; then writing it fails, and that is all.
        signal(SIGPIPE, SIG_IGN)
        let arguments = CommandLine.arguments.dropFirst()
        do throws(UsageError) {
            try run(arguments.first, Array(arguments.dropFirst()))
        } catch {
            Console.fail(error.message, status: UsageError.exitStatus)
        }
    }

    private static func run(_ command: String?, _ arguments: [String]) throws(UsageError) {
        switch command {
        case nil: throw UsageError("no command given. See 'nephos --help'.")
        case "help" where !arguments.isEmpty: try run(arguments[0], ["--help"])
        case "--help", "-h", "help": Console.print(help)
        case "--version", "version": Console.print("nephos \(version)\n")
        case let name?:
            guard let command = NephosCommand.all.first(where: { $0.name == name }) else {
                let meant = Suggestion.text(for: name, among: NephosCommand.all.map(\.name) + ["help", "version"])
                throw UsageError("unknown command '\(name)'.\(meant) See 'nephos --help'.")
            }
            try command.main(arguments)
        }
    }
}

/// Standard output and standard error, unbuffered.
enum Console {
    /// Lines for people.
    static func print(_ text: String) {
        write(printableLines(text), to: STDOUT_FILENO)
    }

    /// What other programs read, as it is.
    static func data(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    /// Data in a line of output: control characters and those that turn the direction of writing are shown as what they are.
    static func printable(_ text: String) -> String { AnsweredRequest.printable(text, limit: .max) }

    /// The same of several lines. What a file, a server or the caller says is never a command to the terminal.
    private static func printableLines(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F || $0 == UInt8(ascii: "\n") }
        if isPlain { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }
            .joined(separator: "\n")
    }

    /// Says on standard error what is worth knowing.
    static func note(_ message: String) {
        write("nephos: \(printableLines(message))\n", to: STDERR_FILENO)
    }

    /// A line on standard error.
    static func warn(_ line: String) {
        write(printableLines(line) + "\n", to: STDERR_FILENO)
    }

    /// Text of our own on standard error, which may have colours.
    static func style(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// A question on standard error, so that output can be sent elsewhere.
    static func prompt(_ question: String) {
        write(printableLines(question), to: STDERR_FILENO)
    }

    /// Says on standard error what went wrong, and ends the process.
    static func fail(_ message: String, status: Int32 = 1) -> Never {
        note(message)
        exit(status)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}
