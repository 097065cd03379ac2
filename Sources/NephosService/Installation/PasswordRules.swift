/// The rules of passwords: long, and none that is guessed first. No rule asks for kinds of characters (NIST SP 800-63B
/// §5.1.1.2).
enum PasswordRules {
    static let shortest = 12
    /// The maximum length in bytes: hashing a longer one would cost without making guesses harder.
    static let longest = 1024

    /// - Throws: `invalidArguments` with the rule that the password breaks.
    static func check(_ password: String, of name: String) throws(ServiceError) {
        if password.unicodeScalars.count < shortest {
            throw .invalid("the password has fewer than \(shortest) characters")
        }
        if password.first?.isWhitespace == true || password.last?.isWhitespace == true {
            throw .invalid("the password begins or ends with a space, which is easily lost")
        }
        if password.utf8.count > longest { throw .invalid("the password has more than \(longest) bytes") }
        let folded = password.lowercased()
        let isAlmostName = [name[...], name.prefix { $0 != "@" }].contains { part in
            part.count >= 4 && folded.contains(part) && folded.count - part.count < 6
        }
        if name.contains(folded) || isAlmostName {
            throw .invalid("the password is almost the account's name")
        }
        if isGuessedFirst(folded) {
            throw .invalid("the password is among those that are guessed first: choose another, such as several words")
        }
    }

    /// Whether the password repeats a short piece, runs along the keyboard or the alphabet, or is a common word with
    /// digits.
    static func isGuessedFirst(_ password: String) -> Bool {
        let characters = Array(password)
        for length in 1...min(6, max(1, characters.count / 2)) where isRepetition(characters, of: length) {
            return true
        }
        let plain = String(characters.map { substitutes[$0] ?? $0 })
        let words = String(plain.filter(\.isLetter))
        if words.isEmpty { return isRun(characters) }
        if runs.contains(where: { $0.contains(plain) || String($0.reversed()).contains(plain) }) { return true }
        let letters = String(password.filter(\.isLetter))
        return [words, letters].contains { rest in
            var rest = rest[...]
            while let word = common.first(where: { !rest.isEmpty && rest.hasPrefix($0) }) {
                rest = rest.dropFirst(word.count)
            }
            return rest.count <= 2
        }
    }

    private static func isRepetition(_ characters: [Character], of length: Int) -> Bool {
        characters.count > length
            && characters.indices.dropFirst(length).allSatisfy {
                characters[$0] == characters[$0 - length]
            }
    }

    /// Whether digits count up or down, such as 123456789012, or are a date.
    private static func isRun(_ characters: [Character]) -> Bool {
        let digits = characters.compactMap(\.wholeNumberValue)
        guard digits.count == characters.count else { return false }
        let steps = Set(zip(digits, digits.dropFirst()).map { ($1 - $0 + 10) % 10 })
        return steps.count == 1 || Set(digits).count <= 3
    }

    private static let substitutes: [Character: Character] = [
        "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "@": "a", "$": "s", "!": "i",
    ]

    private static let runs = [
        "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn",
        "abcdefghijklmnopqrstuvwxyz", "1qaz2wsx3edc4rfv5tgb6yhn7ujm", "1q2w3e4r5t6y7u8i9o0p",
        "iqwertyuiop", "iqaz2wsxeedc", "iq2weerst6y",
    ]

    /// Words of which common passwords are made; longer ones first, where one begins with another.
    private static let common = [
        "administrator", "adminadmin", "admin", "password", "passwort", "passwd", "passphrase", "pass", "motdepasse",
        "contraseña", "welcome", "willkommen", "bienvenue", "letmein", "iloveyou", "loveyou", "love", "sunshine",
        "princess", "football", "baseball", "superman", "batman", "pokemon", "starwars", "trustno", "dragon", "monkey",
        "master", "shadow", "michael", "jennifer", "computer", "internet", "whatever", "freedom", "secret", "changeme",
        "change", "default", "qwertyuiop", "qwerty", "qwertz", "azerty", "asdfgh", "zxcvbn", "asdf", "abcdef", "abc",
        "test", "testing", "user", "guest", "login", "root", "hello", "summer", "winter", "spring", "autumn", "nephos",
        "cloudkit", "icloud", "apple", "google", "microsoft", "windows", "linux", "the", "my", "is", "me", "you", "i",
    ]
}
