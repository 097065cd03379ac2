import FoundationEssentials
import NephosWire

/// The settings of `nephos serve`. Each is an option, a variable of the environment and a name in the configuration file.
/// The help, the reference of the settings and the example file are generated from this table.
enum ServeSettings {
    static let groups = [
        (title: "Server", options: ServeCommand.settings + DevLog.productionOptions),
        (title: "Rates and quotas", options: RateOptions.options + QuotaOptions.options),
        (title: "Mail and sign-up", options: MailOptions.options),
        (title: "Identity providers", options: ProviderOptions.options),
        (title: "Storage", options: ServerSettings.storageAndTimes + StorageOptions.options),
        (title: "Assets", options: AssetOptions.options + ObjectStorageArguments.options),
        (title: "Notifications", options: NotificationOptions.options),
    ]

    static let all = groups.flatMap(\.options)

    /// The part of the help on variables and the configuration file.
    static let note = """
        Every option but --config, --check and --help is also a setting: a line of the
        configuration file (tls-cert = FILE; behind-proxy = true) and a variable of the
        environment (NEPHOS_SERVE_TLS_CERT=FILE). An option overrides the variable, and
        the variable overrides the file.
        """

    /// The prefix of the settings' variables.
    static let variablePrefix = "NEPHOS_SERVE_"

    static func commandLine(_ arguments: [String]) throws(UsageError) -> Arguments {
        try Arguments(arguments, options: all + ServeCommand.ownOptions, command: "serve")
    }

    /// Parses the command line, and adds the settings of the environment and of the configuration file.
    /// - Parameter checksOwner: whether the file is to be root's or this user's.
    static func resolve(_ arguments: [String], checksOwner: Bool = true) throws(UsageError) -> Arguments {
        var resolved = try commandLine(arguments)
        for setting in try settings(ofEnvironment: ProcessInfo.processInfo.environment) { resolved.add([setting]) }
        if let file = try ConfigurationFile.read(
            resolved[ServeCommand.configOption.name], checksOwner: checksOwner)
        {
            for setting in try file.settings(all) { resolved.add(setting) }
        }
        return resolved
    }

    /// Returns the settings of the environment, sorted by name. An empty variable counts as unset.
    /// - Throws: `UsageError` for a variable that has the prefix and is no setting.
    static func settings(ofEnvironment environment: [String: String]) throws(UsageError) -> [GivenSetting] {
        var found: [GivenSetting] = []
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix(variablePrefix) {
            guard !text.isEmpty else { continue }
            guard let option = all.first(where: { $0.variable == name }) else {
                let meant = Suggestion.text(for: name, among: all.map(\.variable))
                throw UsageError("the variable \(name) is no setting.\(meant) See 'nephos serve --help'.")
            }
            var setting = try GivenSetting(option, text, from: .variable(name))
            if option.isRepeatable { setting.values = text.split(separator: " ").map(String.init) }
            found.append(setting)
        }
        return found
    }
}

extension CommandOption {
    /// The name of the setting in the configuration file, such as `tls-cert`.
    var settingName: String { String(name.dropFirst(2)) }

    /// The variable of the setting, such as `NEPHOS_SERVE_TLS_CERT`.
    var variable: String { ServeSettings.variablePrefix + settingName.uppercased().replacing("-", with: "_") }

    /// The help without line breaks, and without the default.
    var meaning: String {
        let text = help.replacing("\n", with: " ")
        guard let found = text.firstRange(of: Self.defaultMark) else { return text }
        return String(text[..<found.lowerBound])
    }

    /// The default that the help names at its end; nil for none.
    var defaultText: String? {
        let text = help.replacing("\n", with: " ")
        return text.firstRange(of: Self.defaultMark).map { String(text[$0.upperBound...]) }
    }

    private static let defaultMark = " Default: "
}
