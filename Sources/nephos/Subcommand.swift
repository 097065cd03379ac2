import NephosWire

/// The parser of the action after a command, such as `list` in `nephos zones list`.
enum Subcommand {
    /// - Parameter command: the name of the command, such as `zones`.
    /// - Returns: the action that the first argument names, and the arguments after it.
    /// - Throws: `UsageError` for a word that is not an action of the command.
    static func parse<Action: RawRepresentable & CaseIterable>(
        _ arguments: [String], of command: String, as: Action.Type = Action.self
    ) throws(UsageError) -> (Action, [String]) where Action.RawValue == String {
        let seeHelp = "See 'nephos \(command) --help'."
        let known = Action.allCases.map(\.rawValue)
        guard let name = arguments.first, !name.hasPrefix("-") else {
            throw UsageError("no \(command) command given, such as '\(command) \(known[0])'. \(seeHelp)")
        }
        guard let action = Action(rawValue: name) else {
            let meant = Suggestion.text(for: name, among: known)
            throw UsageError("unknown \(command) command '\(name)'.\(meant) \(seeHelp)")
        }
        return (action, Array(arguments.dropFirst()))
    }
}
