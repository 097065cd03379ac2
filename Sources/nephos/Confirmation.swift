import Glibc

/// A question before a command erases data, or changes it for good. On a terminal the user answers it. Elsewhere the
/// command needs `--yes`.
struct Confirmation {
    static let option = CommandOption("--yes", nil, "Erase without asking.")

    private let isGiven: Bool

    init(_ arguments: Arguments) { isGiven = arguments.has(Self.option.name) }

    /// Returns if the user confirms, and ends the process otherwise.
    /// - Parameter what: the data to erase, as the object of a sentence, such as `the zone 'A' of 'me'`.
    /// - Throws: `UsageError` if there is no terminal for the question.
    func ask(_ what: String) throws(UsageError) {
        try ask(
            "Erase \(what)?", otherwise: "this erases \(what). Nothing is erased without a question: give '--yes'.",
            refusal: "nothing is erased.")
    }

    /// - Parameters:
    ///   - advice: the error if there is no terminal for the question.
    ///   - refusal: the message if the user does not confirm.
    func ask(_ question: String, otherwise advice: String, refusal: String) throws(UsageError) {
        if isGiven { return }
        guard isatty(STDIN_FILENO) == 1 else { throw UsageError(advice) }
        Console.prompt("\(question) [y/N] ")
        guard let answer = readLine()?.lowercased(), answer == "y" || answer == "yes" else { Console.fail(refusal) }
    }
}
