import Glibc

/// Asks before erasing data: on a terminal by a question; elsewhere nothing is erased without `--yes`.
struct Confirmation {
    static let option = CommandOption("--yes", nil, "Erase without asking.")

    private let isGiven: Bool

    init(_ arguments: Arguments) { isGiven = arguments.has(Self.option.name) }

    /// Returns if confirmed, and ends the process otherwise.
    /// - Parameter what: the erased data, as the object of a sentence: `the zone 'A' of 'me'`.
    /// - Throws: `UsageError` without a terminal to ask on.
    func ask(_ what: String) throws(UsageError) {
        if isGiven { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw UsageError("this erases \(what). Nothing is erased without a question: give '--yes'.")
        }
        Console.prompt("Erase \(what)? [y/N] ")
        guard let answer = readLine()?.lowercased(), answer == "y" || answer == "yes" else {
            Console.fail("nothing is erased.")
        }
    }
}
