import CloudKit
import FoundationEssentials
import Glibc
import NephosHTTP
import NephosWire

/// The program `nephos-keys`, which runs a `DeviceCommand` that `nephos` passes to it.
@main struct NephosKeys {
    private let command: DeviceCommand
    private let devices: AccountDevices

    static func main() {
        guard let command = try? DeviceCommand(decoding: input()), let url = URL(string: command.url) else {
            Terminal.note("nephos-keys is started by 'nephos keys' and 'nephos share accept'.")
            exit(2)
        }
        let keys = NephosKeys(
            command: command,
            devices: AccountDevices(
                container: command.container,
                CloudKitEnvironment(
                    url: url, account: .token(command.token), apiToken: command.apiToken,
                    name: command.environment == "production" ? .production : .development,
                    certificateAuthorities: authorities)))
        let failure = waiting { () async -> String? in
            do throws(AccountDevices.Failure) {
                try await keys.run()
                return nil
            } catch {
                return error.description
            }
        }
        guard let failure else { return }
        Terminal.note(keys.text(of: failure))
        exit(1)
    }

    /// The file of the certificates that are trusted, which `nephos` has checked; nil for the system's.
    private static var authorities: URL? {
        guard let path = getenv("NEPHOS_CA_FILE"), path.pointee != 0 else { return nil }
        return URL(fileURLWithPath: String(cString: path))
    }

    private func text(of failure: String) -> String {
        command.action == .takeKey
            ? "the share is accepted, but the key in its URL was not taken: \(failure). After that accept the URL once more."
            : failure
    }

    private static func input() -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while bytes.count < 1 << 20 {
            let count = read(STDIN_FILENO, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return bytes
    }

    private static let isListed = "this device is on the list already."

    private func run() async throws(AccountDevices.Failure) {
        let word = command.word
        switch command.action {
        case .list:
            for device in try await devices.list() {
                Terminal.print("\(device.name)\(device.isThis ? "  (this device)" : "")\n")
            }
        case .code:
            if let code = try await devices.code() {
                Terminal.print(code + "\n")
            } else {
                Terminal.note(Self.isListed)
            }
        case .approve: try await devices.approve(word)
        case .revoke: try await devices.revoke(word)
        case .recovery: Terminal.print(try await devices.makeRecoveryKey() + "\n")
        case .recover:
            if !(try await devices.recover(word)) {
                Terminal.note(Self.isListed + " The recovery key is the account's.")
            }
        case .compare: try await compare()
        case .accept: word.isEmpty ? try await devices.acceptOwn() : try await devices.accept(word)
        case .reset:
            try await devices.reset()
            Terminal.note("the account has new keys; zones with encrypted values are gone.")
        case .takeKey:
            guard let zoneID = command.zoneID else { return }
            try await devices.takeKey(of: command.group, in: zoneID, from: word)
        }
    }

    private func compare() async throws(AccountDevices.Failure) {
        for known in try await devices.compare(command.word.isEmpty ? nil : command.word) {
            Terminal.print("\(known.userRecordName)  \(known.code ?? "-")\(known.isThis ? "  (this account)" : "")\n")
            if let waiting = known.waiting {
                Terminal.print(
                    "  another list waits: \(waiting)\n  accept it with 'nephos keys accept \(known.userRecordName)'\n")
            }
        }
    }
}

/// Writes to standard output and standard error.
private enum Terminal {
    static func print(_ text: String) { write(text, to: STDOUT_FILENO) }
    static func note(_ message: String) { write("nephos: \(message)\n", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text.printableLines
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}
