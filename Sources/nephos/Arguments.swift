import NephosWire

/// An error in the command line.
struct UsageError: Error, Hashable {
    static let exitStatus: Int32 = 2
    var message: String

    init(_ message: String) {
        self.message = message
    }
}

/// An option of a command.
struct CommandOption: Sendable {
    /// The name of the option, including its dashes.
    var name: String
    /// The name of the option's value in the help; nil for an option without a value.
    var value: String?
    var help: String
    /// Whether the option may be given several times.
    var isRepeatable = false

    init(_ name: String, _ value: String? = nil, _ help: String) {
        self.name = name
        self.value = value
        self.help = help
    }

    /// A copy of the option that may be given several times.
    var repeatable: CommandOption {
        var option = self
        option.isRepeatable = true
        return option
    }

    /// The option as the help shows it, such as `--port N`.
    private var usage: String { value.map { "\(name) \($0)" } ?? name }

    /// The width of the help.
    private static let columns = 90

    /// Returns the options and their descriptions in two aligned columns.
    static func help(_ options: [CommandOption]) -> String {
        let width = (options.map(\.usage.count).max() ?? 0) + 2
        return options.map { option in
            let lines = wrapped(option.help, to: columns - width - 2)
            let indent = "\n" + String(repeating: " ", count: width + 2)
            let padding = String(repeating: " ", count: width - option.usage.count)
            return "  " + option.usage + padding + lines.joined(separator: indent)
        }.joined(separator: "\n")
    }

    /// Returns the lines of a text. The words for which one of them is too long begin the next.
    private static func wrapped(_ text: String, to columns: Int) -> [String] {
        var lines: [String] = []
        var overflow = ""
        for line in text.split(separator: "\n") {
            var current = overflow
            var isFull = false
            overflow = ""
            for word in line.split(separator: " ") {
                isFull = isFull || !current.isEmpty && current.count + 1 + word.count > columns
                if isFull {
                    overflow += (overflow.isEmpty ? "" : " ") + word
                } else {
                    current += (current.isEmpty ? "" : " ") + word
                }
            }
            lines.append(current)
        }
        return overflow.isEmpty ? lines : lines + wrapped(overflow, to: columns)
    }
}

/// The parsed arguments of a command: options (`--name value`, `--name=value` or `--name`), and positional arguments.
struct Arguments {
    private var values: [String: [String]] = [:]
    /// The sources of the options that the command line does not have.
    private var sources: [String: [SettingSource]] = [:]
    /// The words that are neither options nor their values.
    private(set) var words: [String] = []

    /// - Parameter wordLimit: the maximum number of words per command.
    /// - Throws: `UsageError` for an option that is not in `options`, is given twice without being repeatable, lacks
    ///   its value, or has a value that it does not take. Also for more than `wordLimit` words. `-` is a word, and
    ///   after `--` every argument is a word.
    init(
        _ arguments: [String], options: [CommandOption], command: String, wordLimit: Int = 0
    ) throws(UsageError) {
        let seeHelp = "See 'nephos \(command) --help'."
        var rest = arguments[...]
        var hasOptions = true
        while let argument = rest.popFirst() {
            if hasOptions, argument == "--", wordLimit > 0 {
                hasOptions = false
                continue
            }
            guard hasOptions, argument.hasPrefix("-"), argument != "-" else {
                guard words.count < wordLimit else { throw UsageError("unexpected argument '\(argument)'. \(seeHelp)") }
                words.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = options.first(where: { $0.name == parts[0] }) else {
                throw UsageError("\(Self.refusal(ofUnknown: parts[0], options)) \(seeHelp)")
            }
            guard option.isRepeatable || values[option.name] == nil else {
                throw UsageError("option '\(option.name)' is given twice.")
            }
            let given = parts.count > 1 ? parts[1] : nil
            guard let placeholder = option.value else {
                guard given == nil else { throw UsageError("option '\(option.name)' takes no value. \(seeHelp)") }
                values[option.name] = [""]
                continue
            }
            guard let value = given ?? rest.popFirst(), !value.isEmpty else {
                throw UsageError("option '\(option.name)' needs a value: \(option.name) \(placeholder). \(seeHelp)")
            }
            values[option.name, default: []].append(value)
        }
    }

    private static func refusal(ofUnknown name: String, _ options: [CommandOption]) -> String {
        if name == "--token" {
            return "a token is no argument, which other processes see: write it to a file for"
                + " '\(ServerCredentials.tokenOption.name) FILE', or set NEPHOS_TOKEN."
        }
        return "unknown option '\(name)'.\(Suggestion.text(for: name, among: options.map(\.name)))"
    }

    /// The value of the option; nil if the option was not given.
    subscript(_ name: String) -> String? { values[name]?.last }

    /// Returns the values of a repeatable option; empty if the option was not given.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// Whether the option was given.
    func has(_ name: String) -> Bool { values[name] != nil }

    // MARK: Other sources

    /// Adds one option's settings of another source. An option that was given before keeps its values.
    mutating func add(_ settings: [GivenSetting]) {
        guard let name = settings.first?.option.name, values[name] == nil, sources[name] == nil else { return }
        let added = settings.flatMap(\.values)
        values[name] = added.isEmpty ? nil : added
        sources[name] = settings.map(\.source)
    }

    /// Returns the sources of an option; empty if it has its default.
    func sources(of name: String) -> [SettingSource] { sources[name] ?? (has(name) ? [.option] : []) }

    /// Returns the error with the sources of the options that it names, unless those are on the command line.
    func namingSources(_ error: UsageError) -> UsageError {
        var error = error
        for (name, sources) in sources.sorted(by: { $0.key < $1.key })
        where ["'", " "].contains(where: { error.message.contains("'\(name)\($0)") }) {
            error.message += " ('\(name)' is from \(sources.map(\.description).joined(separator: " and ")).)"
        }
        return error
    }
}
