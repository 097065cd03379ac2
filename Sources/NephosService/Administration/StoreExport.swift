import NephosStorage
import NephosWire

/// The files of an account's private database in one store:
///
/// - `files/HASH`: the files of its assets, as stored, so sealed ones are sealed;
/// - `records-N.jsonl`: zones and records in the form of `nephos export`, which import in the order of their numbers;
/// - `encrypted-N.jsonl`: what those lines lack as only the account's devices can decrypt it, as stored;
/// - `damaged-N.jsonl`: what could not be read.
///
/// A file of an asset precedes the lines that name it, so lines name only files that were read as they were saved.
struct StoreExport: Sendable {
    /// How far the export is.
    private enum Position {
        case start
        /// The ID of the account in the store, and its zones that are left. The first one is being read, after the
        /// change sequence; nil before the zone's own line.
        case zones(Int64, ArraySlice<ZoneRow>, after: Int64?)
        case end
    }

    private let service: NephosService
    private let id: StoreID
    private let account: String
    private var position = Position.start
    /// The pieces that are next.
    private var ready: [ExportPiece] = []
    /// The page whose asset files are being exported, before its lines.
    private var page: ExportPage?
    private var files: ArraySlice<AssetRow> = []
    private var file: ExportedFile?
    /// The names of contents in `files/`. Beyond `Limits.exportedFileNames` a file that several records have is
    /// exported again, so that memory is bounded.
    private var exported: Set<String> = []
    private var pages = 0

    init(_ service: NephosService, _ id: StoreID, _ account: String) {
        (self.service, self.id, self.account) = (service, id, account)
    }

    /// Returns the next piece; nil after the last one.
    mutating func next() async throws -> ExportPiece? {
        while true {
            if !ready.isEmpty { return ready.removeFirst() }
            if let file {
                if let piece = try await file.next() { return piece }
                end(file)
            } else if let row = files.popFirst() {
                file = try await open(row)
            } else if let page {
                self.page = nil
                write(page)
            } else if case .end = position {
                return nil
            } else {
                try await readOn()
            }
        }
    }

    private func path(_ name: String) -> String { "\(id.container)/\(id.environment)/\(name)" }

    // MARK: Pages

    /// Reads the next page. What is damaged beyond a record ends the export of the store, not that of the others.
    private mutating func readOn() async throws {
        do {
            switch position {
            case .start: try await begin()
            case .zones(let owner, let zones, let sequence): try await read(owner, zones, after: sequence)
            case .end: break
            }
        } catch let error as StorageError where error.code == .damaged || error.code == .otherVersion {
            service.environment.log("an export skips the rest of \(path("")): \(error)")
            position = .end
            let reason = "The rest of this database cannot be read: ask the server's administrator"
            add("damaged", ExportedDamage(reason: reason).encoded() + ExportPage.lineEnd)
        }
    }

    /// Finds the account's zones. Exports nothing if the account was never in the store.
    private mutating func begin() async throws {
        let found = try await service.stores.usingExisting(id) { [account] store -> (Int64, [ZoneRow])? in
            guard let store else { return nil }
            return try await store.engine.read { reader in
                guard let row = try Accounts.find(account, reader) else { return nil }
                return (row.id, try reader.zones(owner: row.owner))
            }
        }
        guard let (owner, zones) = found else {
            position = .end
            return
        }
        let header = ExportHeader(
            container: id.container, environment: id.environment, database: DatabaseScope.private.rawValue,
            account: nil)
        add("records", header.encoded() + ExportPage.lineEnd)
        proceed(owner, zones.sorted { $0.name < $1.name }[...], after: nil)
    }

    private mutating func read(_ owner: Int64, _ zones: ArraySlice<ZoneRow>, after sequence: Int64?) async throws {
        guard let zone = zones.first else {
            position = .end
            return
        }
        pages += 1
        let read = try await service.stores.usingExisting(id) { store -> ExportPage? in
            guard let store else { return nil }
            return try await store.engine.read { reader in
                guard try reader.liveAccount(id: owner) != nil else { return nil }
                return try ExportPage(of: zone, after: sequence, reader)
            }
        }
        // The account may be deleted meanwhile.
        guard let read else {
            position = .end
            return
        }
        let isLast = read.rows.isEmpty
        proceed(owner, isLast ? zones.dropFirst() : zones, after: isLast ? nil : read.rows.last?.sequence)
        page = read
        files = read.files.values.filter { !exported.contains($0.name) }.sorted { $0.name < $1.name }[...]
    }

    private mutating func proceed(_ owner: Int64, _ zones: ArraySlice<ZoneRow>, after sequence: Int64?) {
        position = zones.isEmpty ? .end : .zones(owner, zones, after: sequence)
    }

    private mutating func write(_ page: ExportPage) {
        let lines = page.lines()
        add("records", lines.records)
        add("encrypted", lines.encrypted)
        add("damaged", lines.damaged)
    }

    /// Adds a file of lines, unless it is empty.
    private mutating func add(_ name: String, _ lines: [UInt8]) {
        if lines.isEmpty { return }
        let digits = String(pages)
        let number = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        ready.append(ExportPiece(path: path("\(name)-\(number).jsonl"), size: Int64(lines.count), bytes: lines))
    }

    // MARK: Files

    /// Opens the file of an asset; nil if it cannot be read, which the lines of its records say.
    private mutating func open(_ row: AssetRow) async throws -> ExportedFile? {
        let log = service.environment.log
        let file = try await service.stores.usingExisting(id) { [path = path("files/\(row.name)")] store in
            guard let store else { return ExportedFile?.none }
            let threads = store.assets.files.threads
            do {
                guard let reader = try await store.assets.open(row.file), reader.size == row.size else { return nil }
                return ExportedFile(reader, row, path, threads)
            } catch let error as StorageError where ExportedFile.isDamage(error, threads) {
                log("an export skips the file \(row.file): \(error)")
                return nil
            }
        }
        if file == nil { page?.lost.insert(row.name) }
        return file
    }

    private mutating func end(_ file: ExportedFile) {
        self.file = nil
        if !file.isWhole {
            page?.lost.insert(file.name)
        } else if exported.count < Limits.exportedFileNames {
            exported.insert(file.name)
        }
    }
}

extension AssetRow {
    /// The name of the file in an export: that of its content.
    fileprivate var name: String { AssetContent.name(hash) }
}
