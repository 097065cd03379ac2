import Glibc
import Synchronization

/// Reads the secret that a command needs. On a terminal the command asks for it without echo. Otherwise it is the first
/// line of standard input. Secrets are never arguments, because every process on the machine can see those.
enum SecretInput {
    /// - Parameter name: the name of the secret in messages, such as `code`.
    /// - Throws: `UsageError` for an empty line, and at the end of the input.
    static func read(_ name: String) throws(UsageError) -> String {
        let text = (isatty(STDIN_FILENO) == 1 ? hiddenLine(name) : line())?.trimmingSpaces ?? ""
        guard !text.isEmpty else {
            throw UsageError(
                "no \(name) was given: it is asked for on a terminal, or the first line of standard input.")
        }
        return text
    }

    /// The maximum length of the input in bytes: more than any secret has, or any URL with a secret.
    private static let limit = 8192

    /// Reads a line; nil if the input ends before it, if it is too long, or if a signal arrives first.
    /// - Parameter mask: the signal mask during the wait for the line; nil to keep the current mask.
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

    /// - Returns: false if a signal arrives before any input.
    private static func waitForInput(_ mask: sigset_t) -> Bool {
        var mask = mask
        while interruption.load(ordering: .relaxed) == 0 {
            var input = fd_set()
            // Adds standard input, descriptor 0, to the set.
            input.__fds_bits.0 = 1
            if pselect(1, &input, nil, nil, nil, &mask) > 0 { return true }
        }
        return false
    }

    /// Reads a line without echo; nil as for `line`. A signal that ends the process takes effect after the terminal is
    /// restored.
    private static func hiddenLine(_ name: String) -> String? {
        var shown = termios()
        guard tcgetattr(STDIN_FILENO, &shown) == 0 else { return line() }
        var (hidden, action, signals) = (shown, sigaction(), sigset_t())
        hidden.c_lflag &= ~tcflag_t(ECHO)
        action.__sigaction_handler.sa_handler = { interruption.store($0, ordering: .relaxed) }
        interruption.store(0, ordering: .relaxed)
        sigemptyset(&signals)
        for signal in Self.signals { sigaddset(&signals, signal) }
        // The signals are blocked, so that none is lost between the check of `interruption` and the wait. The wait
        // unblocks them atomically.
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
        // The terminal did not echo the newline that the user typed.
        Console.prompt("\n")
        sigprocmask(SIG_UNBLOCK, &signals, nil)
        let signal = interruption.load(ordering: .relaxed)
        if signal != 0 { raise(signal) }
        return text
    }

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
}

/// The number of the signal that arrived during the input; 0 for none.
private let interruption = Atomic<Int32>(0)

extension String {
    /// The text without spaces, tabs and carriage returns at both ends.
    var trimmingSpaces: String {
        let isSpace = { (character: Character) in " \t\r".contains(character) }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
