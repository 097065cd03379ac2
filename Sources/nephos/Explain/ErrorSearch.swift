/// Finds what the documentation says of a code or a message.
enum ErrorSearch {
    struct Found: Equatable {
        /// The rows whose texts are like the message, the most similar first.
        var texts: [ErrorText] = []
        var codes: [CodeSection] = []

        var isEmpty: Bool { texts.isEmpty && codes.isEmpty }
    }

    private static let mostTexts = 3
    private static let leastSimilarity = 0.6

    static func find(_ asked: String) -> Found {
        let codes = codes(named: asked)
        if !codes.isEmpty { return Found(codes: codes) }
        let message = serverMessage(in: asked) ?? asked
        var found = Found(texts: texts(like: message))
        let named = description(in: asked) ?? (found.texts.isEmpty ? name(in: asked) : nil)
        let names = named.map { [$0] } ?? found.texts.map(\.code)
        if let named { found.texts = found.texts.filter { $0.code == named } }
        found.codes = ErrorPages.codes.filter { names.contains($0.name) }
        return found
    }

    /// The codes that a name stands for: `serverRecordChanged`, `CKError.serverRecordChanged`, `CKErrorServerRecordChanged`,
    /// `Server Record Changed`, `14`, `14/2004`, `CONFLICT`.
    private static func codes(named asked: String) -> [CodeSection] {
        var word = asked.split(separator: ".").last.map { $0.lowercased().filter { $0 != " " } } ?? ""
        if word.allSatisfy({ $0.isNumber || $0 == "/" }) { word = String(word.prefix { $0 != "/" }) }
        if word.hasPrefix("ckerror") { word.removeFirst("ckerror".count) }
        return ErrorPages.codes.filter { code in
            code.name.lowercased() == word || String(code.number) == word
                || code.serverCodes.contains { $0.lowercased() == word }
        }
    }

    /// The number of characters between the name of an error's domain and its code, as in `CKErrorDomain, code 14`.
    private static let longestMark = 40

    private static let wordsOfCodes: Set = ["code", "error", "rawvalue"]
    /// Words before another number than a code.
    private static let wordsOfOthers: Set = [
        "pid", "at", "line", "thread", "retry", "attempt", "after", "in", "ios", "macos", "tvos", "watchos", "swift",
        "xcode",
    ]

    /// The code in an error's description: `<CKError 0x…: "Server Record Changed" (14/2004); …`,
    /// `Error Domain=CKErrorDomain Code=14 …`, or Foundation's `… (CKErrorDomain error 14.)`.
    private static func description(in text: String) -> String? {
        for domain in ["CKErrorDomain", "CKInternalErrorDomain", "CKError code ", "CKError.Code(rawValue: "] {
            for range in text.ranges(of: domain) {
                let code = numbers(after: range.upperBound, in: text).lazy.compactMap { number in
                    ErrorPages.codes.first {
                        domain == "CKInternalErrorDomain"
                            ? $0.serverCodes.contains(String(number)) : String($0.number) == number
                    }
                }.first
                if let code { return code.name }
            }
        }
        var rest = text[...]
        while let open = rest.firstIndex(of: "(") {
            rest = rest[open...].dropFirst()
            let number = rest.prefix { $0.isNumber }
            let after = rest.dropFirst(number.count).first
            guard after == "/" || after == ")",
                let code = ErrorPages.codes.first(where: { String($0.number) == number })
            else { continue }
            return code.name
        }
        return nil
    }

    /// Returns the candidates for an error code after its domain. Those after the word `code` or `error` come first; Foundation's
    /// word is of the user's language.
    private static func numbers(after domain: String.Index, in text: String) -> [Substring] {
        var (named, others): ([Substring], [Substring]) = ([], [])
        var rest = text[domain...].prefix(longestMark).prefix { $0 != "\n" }
        while let start = rest.firstIndex(where: \.isNumber) {
            let mark = rest[..<start]
            let number = text[start...].prefix { $0.isNumber }
            rest = rest[min(number.endIndex, rest.endIndex)...]
            let words = mark.split { !$0.isLetter }.map { $0.lowercased() }
            let after = text[number.endIndex...].prefix(2)
            if isPart(mark, after) { continue }
            if words.last.map(wordsOfCodes.contains) == true {
                named.append(number)
            } else if !words.contains(where: wordsOfOthers.contains), !isCount(after),
                mark.startIndex == domain || !words.isEmpty
            {
                others.append(number)
            }
        }
        return named + others
    }

    /// Whether a number is a part of a time, a name or a hexadecimal number, a percentage, or negative.
    private static func isPart(_ mark: Substring, _ after: Substring) -> Bool {
        if mark.hasSuffix("-") || mark.last.map({ $0.isLetter && $0.isASCII }) == true { return true }
        return after.first.map { ":%".contains($0) || $0.isLetter } == true
    }

    /// Whether a word follows a number, as in `3 attempts`.
    private static func isCount(_ after: Substring) -> Bool { after.first == " " && after.last?.isLetter == true }

    /// The first code whose name stands in a text: `zoneBusy`, or `CONFLICT`.
    private static func name(in text: String) -> String? {
        for word in text.split(whereSeparator: { !$0.isLetter && $0 != "_" }) {
            let code = ErrorPages.codes.first { $0.name == word || $0.serverCodes.contains(String(word)) }
            if let code { return code.name }
        }
        return nil
    }

    /// The text after `server message = "` in an error's description, or after `"reason":"` in an answer.
    private static func serverMessage(in text: String) -> String? {
        for mark in [#"server message = ""#, #""reason":""#, #""reason": ""#] {
            guard let range = text.firstRange(of: mark) else { continue }
            return String(text[range.upperBound...].prefix { $0 != "\"" })
        }
        return nil
    }

    private static func texts(like message: String) -> [ErrorText] {
        let words = words(message)
        let ranked = ErrorPages.texts.compactMap { row -> (row: ErrorText, similarity: Double)? in
            // The words before the first colon are the service's; the remedy after it is ours.
            let head = Self.words(String(row.description.prefix { $0 != ":" }))
            let all = Self.words(row.description)
            let similarity = max(Self.similarity(head, words), Self.similarity(all, words))
            return similarity >= leastSimilarity ? (row, similarity) : nil
        }
        return ranked.sorted { $0.similarity > $1.similarity }.prefix(mostTexts).map(\.row)
    }

    /// The Sørensen–Dice coefficient of two texts' words.
    private static func similarity(_ one: Set<String>, _ other: Set<String>) -> Double {
        let count = one.count + other.count
        return count == 0 ? 0 : 2 * Double(one.intersection(other).count) / Double(count)
    }

    /// The words of a text, without the names and values in it.
    private static func words(_ text: String) -> Set<String> {
        let parts = text.split(separator: "'", omittingEmptySubsequences: false).enumerated()
        let plain = parts.filter { $0.offset % 2 == 0 }.map(\.element).joined(separator: " ")
        let words = plain.lowercased().split { !$0.isLetter }
        return Set(words.filter { $0.count > 1 }.map(String.init))
    }
}
