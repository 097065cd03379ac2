import FoundationEssentials
import Glibc
import NephosHTTP
import NephosPostgres
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage

/// `nephos serve --check`: the settings in force with their sources, and whether a server could start and work with them.
/// It takes no lock, and changes nothing beside one object of its own in the object storage, so it may run beside the
/// server.
struct ServeCheck {
    enum Finding {
        case passed(String)
        /// A start does not fail of it: what is to be known, and what cannot be checked.
        case note(String)
        case failed(String)

        var line: String {
            switch self {
            case .passed(let text): "  ok      \(text)\n"
            case .note(let text): "  note    \(text)\n"
            case .failed(let text): "  FAILED  \(text)\n"
            }
        }
    }

    let command: ServeCommand

    /// Prints the settings and the findings. Exits with 1 if a check failed.
    /// - Throws: `UsageError` for settings with which no server starts.
    static func main(_ arguments: [String]) throws(UsageError) {
        // Root reads where the data is from a file that may be the server's user's.
        let draft = try ServeSettings.resolve(arguments, checksOwner: geteuid() != 0)
        let user = try DataOwner.become(ofData: draft["--data"] ?? ServeCommand.defaultData)
        // The configuration and the files that it names are read as the server's user reads them.
        let resolved = try ServeSettings.resolve(arguments)
        Console.print("settings:\n\(settings(resolved))")
        let check = ServeCheck(command: try ServeCommand(resolved))
        let findings =
            (user.map { [.note("checked as the user \($0), to whom \(check.command.data) belongs")] } ?? [])
            + check.findings()
        Console.print("checks:\n\(findings.map(\.line).joined())")
        let failures = findings.compactMap { if case .failed(let text) = $0 { text } else { nil } }
        guard let first = failures.first else { return }
        let number = failures.count > 1 ? " (the first of \(failures.count) reasons)" : ""
        Console.fail("the server would not start, or not work\(number): \(first)")
    }

    // MARK: Settings

    /// Returns a line for each setting that has a value, and its source.
    static func settings(_ arguments: Arguments) -> String {
        ServeSettings.all.flatMap { option -> [String] in
            let sources = arguments.sources(of: option.name)
            let values = arguments.all(option.name)
            if sources.isEmpty {
                return option.defaultText.map { ["  \(option.settingName) = \($0) (default)\n"] } ?? []
            }
            guard option.value != nil else {
                return ["  \(option.settingName) = \(values.isEmpty ? "false" : "true") (\(sources[0]))\n"]
            }
            return values.enumerated().map { index, value in
                let source = sources[min(index, sources.count - 1)]
                return
                    "  \(option.settingName) = \(MaskedURL.text(value, hidesPath: option.name == "--web-hook")) (\(source))\n"
            }
        }.joined()
    }

    // MARK: Checks

    func findings() -> [Finding] {
        let isServed = AdministeredInstallation.isServed(command.socket)
        let running: [Finding] =
            isServed ? [.note("a server runs with these data: \(command.socket) answers")] : []
        let metrics = command.listeners.metricsAddress.map {
            listener($0, "who reaches \($0) reads the metrics and the status")
        }
        let address = command.listeners.address
        return running + [listener(address, "\(address) is of this machine; whether its port is free is not checked")]
            + socketPath() + (metrics.map { [$0] } ?? []) + certificate() + data() + storage()
            + objects() + command.readableSecrets.map(Finding.note)
            + (command.mail.finding().map { [$0] } ?? []) + command.providers.findings()
    }

    private func listener(_ address: String, _ note: String) -> Finding {
        do throws(ListeningError) {
            try ListeningSocket.check(address)
            return .note(note)
        } catch {
            return .failed("\(error)")
        }
    }

    private func socketPath() -> [Finding] {
        // A data directory that is missing, or that this user may not change, is a finding of its own.
        let isInData = command.socket == ServeCommand.socketPath(in: command.data)
        if isInData, access(command.data, W_OK | X_OK) != 0 { return [] }
        do throws(ListeningError) {
            try ListeningSocket.check(path: command.socket)
            return []
        } catch {
            return [.failed("\(error)")]
        }
    }

    private func certificate() -> [Finding] {
        guard let credentials = command.listeners.credentials else {
            return [.note("no certificate: plain HTTP is served at \(command.listeners.address)")]
        }
        let names = credentials.names.joined(separator: ", ")
        let left = credentials.expiry.timeIntervalSinceNow
        if left < 0 { return [.failed("the certificate for \(names) expired on \(credentials.expiry)")] }
        if credentials.start > Date() {
            return [.failed("the certificate for \(names) is valid from \(credentials.start) on, not yet")]
        }
        var findings = [Finding.passed("the certificate for \(names) is valid until \(credentials.expiry)")]
        if left < ServeListeners.warning { findings.append(.note("the certificate expires soon: renew it")) }
        findings += credentials.problems(for: command.url.host).map(Finding.note)
        return findings
    }

    private func data() -> [Finding] {
        let data = command.data
        do {
            try ServeCommand.checkDirectory(data)
            guard access(data, R_OK | W_OK | X_OK) == 0 else {
                return [.failed("this user may not write to \(data): \(String(cString: strerror(errno)))")]
            }
            return [.passed("no other user may change the directory \(data)")]
        } catch {
            return [.failed(Self.reason(error))]
        }
    }

    private func storage() -> [Finding] {
        do {
            guard let address = command.settings.storage else { return try files() }
            let options = command.settings.storageOptions.postgres(
                acceptsUnsafeServer: command.settings.acceptsUnsafeStorage
            ) { _ in }
            try StoresInFiles.checkAreMoved(command.data, to: address, options)
            let place = command.settings.objectStorage.place(or: command.data)
            let found = try PostgresInspection(address, assets: place, options: options)
            try Installation.checkClock(found.clockOffset)
            try ServeCommand.checkIsProduction(found.stores, "the database")
            let tables =
                found.ran == found.known
                ? "its tables are of this version"
                : "the start migrates its tables: \(found.ran) of \(found.known) migrations ran"
            return [.passed("the database is reached; \(tables)")]
        } catch {
            return [.failed(Self.reason(error))]
        }
    }

    private func files() throws -> [Finding] {
        guard FileSystem.isDirectory(command.data) else { return [] }
        try StoresInFiles.check(command.data, remedy: "Give \(StoresInFiles.storageOption).")
        try AssetStorageNote(command.data).check(command.settings.objectStorage)
        let directory = try StoredDirectory(path: command.data)
        let stores = try directory.existingStores()
        try waiting { () async -> Result<Void, any Error> in
            do {
                return .success(try await LostInstallation.check(stores) { try directory.snapshot($0) })
            } catch { return .failure(error) }
        }.get()
        try ServeCommand.checkIsProduction(stores, command.data)
        let missing = try directory.missingStores().map {
            Finding.failed("the store of \($0.text) is missing: restore it")
        }
        guard missing.isEmpty else { return missing }
        guard !stores.isEmpty else { return [.passed("no data yet: the start makes them")] }
        // Only the first pages are read; 'nephos verify' reads all.
        let failures = stores.compactMap { id -> Finding? in
            do {
                try directory.checkVersion(id)
                try directory.checkMayWrite(id)
                if id.isInstallation { try Self.checkAccounts(directory) }
                return nil
            } catch { return .failed("the store of \(id.text): \(Self.reason(error))") }
        }
        return failures.isEmpty
            ? [.passed("\(stores.count) stores of a production server, of a known version")] : failures
    }

    /// Without the store of its accounts a server does not start.
    private static func checkAccounts(_ directory: StoredDirectory) throws {
        try waiting { () async -> Result<Void, any Error> in
            do {
                return .success(try await Installation.testReading(try directory.inspection(.installation)))
            } catch { return .failure(error) }
        }.get()
    }

    private func objects() -> [Finding] {
        guard command.settings.objectStorage.objects != nil else { return [] }
        let result = waiting { [settings = command.settings] () async -> Finding in
            do {
                _ = try await settings.objectStorage.requests(checking: true)
                return .passed("the object storage is reached; an object was stored, read and deleted there")
            } catch { return .failed(Self.reason(error)) }
        }
        return [result]
    }

    private static func reason(_ error: any Error) -> String { (error as? StorageError)?.message ?? "\(error)" }
}
