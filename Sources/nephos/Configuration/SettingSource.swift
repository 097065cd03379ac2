/// The source of a setting's value.
enum SettingSource: Hashable, CustomStringConvertible {
    case option
    case variable(String)
    case line(Int, file: String)

    var description: String {
        switch self {
        case .option: "option"
        case .variable(let name): name
        case .line(let number, let file): "\(file), line \(number)"
        }
    }
}

/// A setting that a source other than the command line gives.
struct GivenSetting {
    var option: CommandOption
    /// The values; none for an option without a value that is `false`.
    var values: [String]
    var source: SettingSource

    /// - Parameter text: the value; `true` or `false` for an option without a value.
    /// - Throws: `UsageError` for any other text of such an option, and for a control character. The error does not
    ///   quote the text.
    init(_ option: CommandOption, _ text: String, from source: SettingSource) throws(UsageError) {
        guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F || $0 == "\t" }) else {
            throw UsageError("\(source): the value of '\(option.settingName)' holds a control character.")
        }
        self.option = option
        self.source = source
        guard option.value == nil else {
            values = [text]
            return
        }
        guard text == "true" || text == "false" else {
            throw UsageError("\(source): '\(option.settingName)' is true or false.")
        }
        values = text == "true" ? [""] : []
    }
}
