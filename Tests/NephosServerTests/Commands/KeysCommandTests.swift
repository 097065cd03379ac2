import Foundation
import Testing

/// How `nephos keys` reads secrets.
@Suite struct KeysCommandTests {
    private static let options = ["--url", "http://127.0.0.1:1", "--container", "iCloud.test", "--account", "mei"]

    @Test(arguments: ["approve", "recover"])
    func `a secret is refused as an argument, which other processes see`(action: String) async throws {
        let finished = try await StartedNephos(["keys", action, "2345-6789"] + Self.options).finish()
        #expect(finished.status == 2 && finished.errors.contains("as an argument, which other processes see"))
        #expect(!finished.errors.contains("2345"))
    }

    @Test(arguments: [("approve", "is not a device's code"), ("recover", "is not a recovery key")])
    func `a secret is the first line of standard input`(action: String, refusal: String) async throws {
        let finished = try await StartedNephos(["keys", action] + Self.options, input: typed("2345-6789")).finish()
        #expect(finished.status == 1 && finished.errors.contains(refusal), "\(finished)")
        let empty = try await StartedNephos(["keys", action] + Self.options).finish()
        #expect(empty.status == 2 && empty.errors.contains("was given"), "\(empty)")
    }

    @Test func `a terminal does not echo a secret, and echoes later input`() async throws {
        let terminal = try PseudoTerminal()
        let command = try StartedNephos(["keys", "recover"] + Self.options, input: terminal.device())
        #expect(try await command.question() == "recovery key: ")
        #expect(!terminal.echoes)
        try terminal.type("2345-6789\n")
        let finished = try await command.finish()
        #expect(finished.status == 1 && finished.errors.contains("is not a recovery key"), "\(finished)")
        #expect(terminal.shown == "" && terminal.echoes)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends the prompt and restores the terminal`(signal: Int32) async throws {
        let terminal = try PseudoTerminal()
        let command = try StartedNephos(["keys", "approve"] + Self.options, input: terminal.device())
        #expect(try await command.question() == "code: ")
        let finished = try await command.stop(signal)
        #expect(!finished.exited && finished.status == signal && terminal.echoes)
    }
}

extension StartedNephos {
    /// What it asks first.
    fileprivate func question() async throws -> String {
        try await offThePool { [errors] in String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self) }
    }
}

/// A terminal without a window.
private final class PseudoTerminal {
    private let main: Int32
    /// Open for as long as this is, so that the terminal stays.
    private let end: Int32

    init() throws {
        main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (number, isLocked) = (Int32(-1), Int32(0))
        // TIOCSPTLCK and TIOCGPTN, whose macros Swift does not import.
        guard main >= 0, ioctl(main, 0x4004_5431, &isLocked) == 0, ioctl(main, 0x8004_5430, &number) == 0 else {
            close(main)
            throw TestFailure("no terminal: \(String(cString: strerror(errno)))")
        }
        end = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    }

    deinit {
        close(main)
        close(end)
    }

    /// What a program has as its standard input.
    func device() -> FileHandle { FileHandle(fileDescriptor: dup(end), closeOnDealloc: true) }

    var echoes: Bool {
        var settings = termios()
        return tcgetattr(end, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    func type(_ text: String) throws {
        guard write(main, text, text.utf8.count) == text.utf8.count else { throw TestFailure("nothing can be typed") }
    }

    /// What it has shown since.
    var shown: String {
        var waiting = Int32(0)
        guard ioctl(main, UInt(FIONREAD), &waiting) == 0, waiting > 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: Int(waiting))
        return String(decoding: bytes.prefix(max(0, read(main, &bytes, bytes.count))), as: UTF8.self)
    }
}
