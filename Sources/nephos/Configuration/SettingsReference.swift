/// What is generated from the table of settings: the reference in Documentation/Configuration.md, and the example of a
/// configuration file.
enum SettingsReference {
    /// A table of the settings in Markdown.
    static var table: String {
        ServeSettings.groups.map { group in
            let rows = group.options.map { option in
                let cells = [
                    "`\(option.settingName)`" + (option.value.map { " \($0)" } ?? ""), "`\(option.variable)`",
                    option.defaultText ?? (option.value == nil ? "false" : ""), option.meaning,
                ]
                return "| \(cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ")) |\n"
            }
            return "### \(group.title)\n\n| setting | variable | default | meaning |\n|---|---|---|---|\n"
                + rows.joined()
        }.joined(separator: "\n")
    }

    /// A configuration file with every setting in a comment.
    static var example: String {
        let head = """
            # The configuration of 'nephos serve'. Documentation: nephos serve --help, man nephos.
            # Remove the # in front of a setting to set it, then run: nephos serve --check
            # A comment is a line of its own. Options and variables (NEPHOS_SERVE_URL) override this file.

            """
        let parts = ServeSettings.groups.map { group in
            "\n# --- \(group.title) ---\n"
                + group.options.map { option in
                    let help = option.help.split(separator: "\n").map { "# \($0)\n" }.joined()
                    return "\n\(help)#\(option.settingName) = \(option.value ?? "true")\n"
                }.joined()
        }
        return head + parts.joined()
    }
}
