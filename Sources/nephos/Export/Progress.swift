import Glibc

/// The progress of a command: one line that is overwritten. It is shown only on a terminal.
struct Progress {
    /// The number of records between two checks of the clock.
    private static let step = 100

    private let verb: String
    /// The total size in bytes; nil if it is unknown.
    private let total: Int?
    private let isShown = isatty(STDERR_FILENO) == 1
    private(set) var count = 0
    /// The number of bytes that were processed so far.
    var position = 0

    init(_ verb: String, total: Int? = nil) {
        self.verb = verb
        self.total = total
    }

    mutating func advance(by records: Int = 1) {
        let before = count / Self.step
        count += records
        if isShown, count / Self.step != before { Console.style("\r\(line)") }
    }

    func finish() {
        if isShown, count >= Self.step { Console.style("\r\u{1B}[K") }
        Console.note("\(count) records \(verb)")
    }

    private var line: String {
        guard let total, total > 0 else { return "\(count) records \(verb)" }
        let done = min(position * 30 / total, 30)
        return "[\(String(repeating: "=", count: done))\(String(repeating: " ", count: 30 - done))] "
            + "\(min(position * 100 / total, 100)) %, \(count) records \(verb)"
    }
}
