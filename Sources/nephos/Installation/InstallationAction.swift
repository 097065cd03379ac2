import NephosWire

/// An action of a command that administers a production server, such as `create` in `nephos containers create`.
struct InstallationAction: Sendable {
    typealias Run = @Sendable (AdministeredInstallation, Arguments) throws -> Void

    var name: String
    /// The arguments after the name, such as `NAME`; empty for none.
    var words: String = ""
    var summary: String
    var options: [CommandOption] = []
    var run: Run

    private var wordLimit: Int { words.isEmpty ? 0 : 1 }

    /// Returns the help of a command with these actions.
    static func help(_ command: String, _ summary: String, _ actions: [InstallationAction], _ note: String = "")
        -> String
    {
        let width = (actions.map(\.name.count).max() ?? 0) + 2
        let usages = actions.enumerated().map { index, action in
            let start = index == 0 ? "Usage: nephos" : "       nephos"
            let name = action.name + String(repeating: " ", count: width - action.name.count)
            return "\(start) \(command) \(name)[OPTIONS]\(action.words.isEmpty ? "" : " \(action.words)")"
        }
        let lines = actions.map { action in
            "  \(action.name)\(String(repeating: " ", count: width - action.name.count))\(action.summary)"
        }
        let options = actions.flatMap(\.options) + AdministeredInstallation.options
        var seen: Set<String> = []
        let distinct =
            options.filter { seen.insert($0.name).inserted } + [CommandOption("--help", nil, "Show this help.")]
        return """
            \(summary)

            \(usages.joined(separator: "\n"))

            \(lines.joined(separator: "\n"))

            A running server is reached through the socket in its data directory, by root or
            the server's user. Otherwise the data of the stopped server is changed, by root
            as the user to whom it belongs.
            \(note)
            Options:
            \(CommandOption.help(distinct))

            """
    }

    /// Runs the action that the arguments name.
    static func main(
        _ arguments: [String], of command: String, help: String, _ actions: [InstallationAction]
    ) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        guard let name = arguments.first, let action = actions.first(where: { $0.name == name }) else {
            let known = actions.map(\.name)
            guard let name = arguments.first, !name.hasPrefix("-") else {
                throw UsageError(
                    "no \(command) command given, such as '\(command) \(known[0])'. See 'nephos \(command) --help'.")
            }
            throw UsageError(
                "unknown \(command) command '\(name)'.\(Suggestion.text(for: name, among: known)) "
                    + "See 'nephos \(command) --help'.")
        }
        let parsed = try Arguments(
            Array(arguments.dropFirst()), options: action.options + AdministeredInstallation.options,
            command: command, wordLimit: action.wordLimit)
        guard action.words.isEmpty || !parsed.words.isEmpty else {
            throw UsageError("'nephos \(command) \(name)' needs \(action.words). See 'nephos \(command) --help'.")
        }
        try AdministeredInstallation.run(parsed) { try action.run($0, parsed) }
    }
}

extension Arguments {
    /// Returns the value of an option that an action needs.
    func require(_ option: CommandOption) throws(UsageError) -> String {
        guard let value = self[option.name] else {
            throw UsageError("this needs '\(option.name) \(option.value ?? "")'.")
        }
        return value
    }
}
