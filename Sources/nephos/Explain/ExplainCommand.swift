import NephosWire

/// The command `nephos explain`, which prints what the documentation says of an error.
struct ExplainCommand {
    static let options = [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Explain an error: its causes in practice, the remedy, what provokes it in a test.

        Usage: nephos explain CODE
               nephos explain MESSAGE...

        CODE is a code of CKError, by name or number, or one of the Web Services, or the
        second number in an error's description: 2004 of (14/2004).
        MESSAGE is an error's text, as a log or an answer has it.

          nephos explain serverRecordChanged
          nephos explain 14
          nephos explain ATOMIC_ERROR
          nephos explain "Field 'stars' is not marked queryable"

        Options:
        \(CommandOption.help(options))

        """

    /// Runs the command. The exit status is 1 if the documentation has nothing of the error.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let arguments = try Arguments(arguments, options: options, command: "explain", wordLimit: 1000)
        guard !arguments.words.isEmpty else {
            throw UsageError("nephos explain needs a code or a message. See 'nephos explain --help'.")
        }
        let asked = arguments.words.joined(separator: " ")
        let found = ErrorSearch.find(asked)
        if found.isEmpty {
            let meant = Suggestion.text(for: asked, among: ErrorPages.codes.map(\.name))
            Console.fail("no code and no text of the documentation is like '\(asked)'.\(meant)")
        }
        Console.print(text(found))
    }

    private static func text(_ found: ErrorSearch.Found) -> String {
        var parts = found.texts.map { row in "\(row.code): \(row.description)\n  when: \(row.situation)\n" }
        parts += found.codes.map { code in "\(code.name), \(code.text)\n" }
        return parts.joined(separator: "\n")
    }
}
