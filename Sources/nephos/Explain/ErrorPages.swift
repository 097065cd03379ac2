import CErrorPages

/// What the documentation says of an error code.
struct CodeSection: Equatable {
    /// The name of the `CKError.Code`.
    var name: String
    /// The raw value of the `CKError.Code`.
    var number: Int
    /// The codes of the Web Services, and the numbers of Apple's service in descriptions: 2004 of `(14/2004)`.
    var serverCodes: [String]
    /// The section's text, without its heading.
    var text: String
}

/// A row of the documentation's tables of errors.
struct ErrorText: Equatable {
    var situation: String
    var code: String
    var description: String
}

/// The documentation's pages on errors, which are part of the program.
enum ErrorPages {
    /// The sections of Documentation/ErrorCodes.md.
    static let codes: [CodeSection] = text(cerrorpages_codes()).split(separator: "\n## ").dropFirst().compactMap(
        section)

    /// The rows of Documentation/Errors.md.
    static let texts: [ErrorText] = text(cerrorpages_texts()).split(separator: "\n").compactMap(row)

    private static func text(_ page: CErrorPage) -> String {
        String(decoding: UnsafeRawBufferPointer(start: page.bytes, count: page.count), as: UTF8.self)
    }

    /// Parses a section, whose text begins with its numbers: "14, `CONFLICT` or `EXISTS`. The record …".
    private static func section(_ text: Substring) -> CodeSection? {
        guard let end = text.firstIndex(of: "\n"), let stop = text[end...].firstIndex(of: ".") else { return nil }
        let body = text[end...].drop { $0.isNewline }
        let numbers = text[end..<stop]
        guard let number = Int(numbers.drop { !$0.isNumber }.prefix { $0.isNumber }) else { return nil }
        let quoted = numbers.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        return CodeSection(
            name: String(text[..<end]), number: number,
            serverCodes: quoted.filter { $0.offset % 2 == 1 }.map { String($0.element) },
            text: String(body).trimmingNewlines())
    }

    /// Parses a row of three cells. The second is a code; else the row is no error's.
    private static func row(_ line: Substring) -> ErrorText? {
        guard line.hasPrefix("| ") else { return nil }
        let cells = line.dropFirst(2).dropLast(2).split(separator: " | ", omittingEmptySubsequences: false)
        guard cells.count >= 3, cells[1].hasPrefix("`"), cells[1].hasSuffix("`") else { return nil }
        return ErrorText(
            situation: String(cells[0]), code: String(cells[1].dropFirst().dropLast()),
            description: cells[2...].joined(separator: " | "))
    }
}

extension String {
    fileprivate func trimmingNewlines() -> String {
        var text = self
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }
}
