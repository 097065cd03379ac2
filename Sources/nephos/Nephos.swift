import Glibc
import NephosServer
import NephosWire
import Synchronization

/// The command line of the program, `nephos COMMAND [OPTIONS]`.
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
        // If the program that reads our output closes it, writes fail, and the status says so at the end.
        signal(SIGPIPE, SIG_IGN)
        let arguments = CommandLine.arguments.dropFirst()
        do throws(UsageError) {
            try run(arguments.first, Array(arguments.dropFirst()))
            Console.checkOutput()
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

/// Writes to standard output and standard error without a buffer.
enum Console {
    /// Prints lines for people on standard output.
    static func print(_ text: String) {
        write(text.printableLines, to: STDOUT_FILENO)
    }

    /// Writes data for other programs on standard output, unmodified.
    static func data(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    /// Writes data for another program, or for a person, that may have gone.
    /// - Returns: whether all of it was written.
    static func offer(_ text: String) -> Bool { write(text, to: STDOUT_FILENO) }

    /// Returns data for one line of output. Control characters and bidirectional formatting characters are escaped.
    static func printable(_ text: String) -> String { text.printable() }

    /// Prints a note on standard error.
    static func note(_ message: String) {
        write("nephos: \(message.printableLines)\n", to: STDERR_FILENO)
    }

    /// Prints a line on standard error.
    static func warn(_ line: String) {
        write(line.printableLines + "\n", to: STDERR_FILENO)
    }

    /// Prints our own text, which may have colours, on standard error.
    static func style(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// Prints a question on standard error, so that standard output can be redirected.
    static func prompt(_ question: String) {
        write(question.printableLines, to: STDERR_FILENO)
    }

    /// Prints an error on standard error and ends the process.
    static func fail(_ message: String, status: Int32 = 1) -> Never {
        note(message)
        exit(status)
    }

    /// The error of the first write to standard output that failed; 0 for none.
    private static let outputError = Atomic<Int32>(0)

    /// Ends the process with a failure if standard output could not be written: what was printed is not whole. Commands
    /// that change something run to their end before. Quiet where its reader has gone, as a pipe of `head`.
    static func checkOutput() {
        let code = outputError.load(ordering: .relaxed)
        if code == EPIPE { exit(128 + SIGPIPE) }
        if code != 0 { fail("cannot write standard output: \(String(cString: strerror(code)))") }
    }

    @discardableResult
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else {
                    if descriptor == STDOUT_FILENO {
                        _ = outputError.compareExchange(expected: 0, desired: errno, ordering: .relaxed)
                    }
                    return false
                }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
            return true
        }
    }
}
