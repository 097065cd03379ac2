import Glibc
import Synchronization

/// Reads a command's secret: on a terminal after a question, without echo, elsewhere as the first line of standard
/// input. Secrets are never arguments, which every process of the machine can see.
enum SecretInput {
    /// - Parameter name: the secret's name in messages: `code`.
    /// - Throws: `UsageError` for an empty line, and at the end of input.
    static func read(_ name: String) throws(UsageError) -> String {
        let text = (isatty(STDIN_FILENO) == 1 ? hiddenLine(name) : line())?.trimmingSpaces ?? ""
        guard !text.isEmpty else {
            throw UsageError(
                "no \(name) was given: it is asked for on a terminal, or the first line of standard input.")
        }
        return text
    }

    /// The maximum length: longer than any secret, and than a URL with one.
    private static let limit = 8192

    /// Nil if the input ends before a line, is too long, or a signal arrives first.
    /// - Parameter mask: the signals that are blocked during the wait for the line.
    private static func line(_ mask: sigset_t? = nil) -> String? {
        var (bytes, byte): ([UInt8], UInt8) = ([], 0)
        while bytes.count < limit {
            if let mask, !waitForInput(mask) { return nil }
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return count == 0 && !bytes.isEmpty ? String(decoding: bytes, as: UTF8.self) : nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }

    /// - Returns: false if a signal arrives first.
    private static func waitForInput(_ mask: sigset_t) -> Bool {
        var mask = mask
        while interruption.load(ordering: .relaxed) == 0 {
            var input = fd_set()
            // Standard input is descriptor 0.
            input.__fds_bits.0 = 1
            if pselect(1, &input, nil, nil, nil, &mask) > 0 { return true }
        }
        return false
    }

    /// Reads a line without echo. A signal that ends the process takes effect after the terminal is restored.
    private static func hiddenLine(_ name: String) -> String? {
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return line() }
        var (hidden, action, signals) = (shown, sigaction(), sigset_t())
        hidden.c_lflag &= ~tcflag_t(ECHO)
        action.__sigaction_handler.sa_handler = { interruption.store($0, ordering: .relaxed) }
        interruption.store(0, ordering: .relaxed)
        sigemptyset(&signals)
        for signal in Self.signals { sigaddset(&signals, signal) }
        // Blocked, so that no signal is lost between the check of `interruption` and the wait, which unblocks them
        // atomically.
        var mask = sigset_t()
        sigprocmask(SIG_BLOCK, &signals, &mask)
        let former = Self.signals.map { signal in
            var former = sigaction()
            sigaction(signal, &action, &former)
            sigdelset(&mask, signal)
            return (signal, former)
        }
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        Console.prompt("\(name): ")
        let text = line(mask)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
        for (signal, handling) in former {
            var handling = handling
            sigaction(signal, &handling, nil)
        }
        // The typed newline was not echoed either.
        Console.prompt("\n")
        sigprocmask(SIG_UNBLOCK, &signals, nil)
        let signal = interruption.load(ordering: .relaxed)
        if signal != 0 { raise(signal) }
        return text
    }

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
}

/// The signal that arrived during the input; 0 for none.
private let interruption = Atomic<Int32>(0)

extension String {
    /// Trims spaces, tabs and a carriage return at both ends.
    fileprivate var trimmingSpaces: String {
        let isSpace = { (character: Character) in " \t\r".contains(character) }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
