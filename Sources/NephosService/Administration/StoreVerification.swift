import NephosCrypto
package import NephosStorage
import NephosThreads
import NephosWire

/// Verifies a store against its asset files:
///
/// - every row's zone and account exist;
/// - every record is readable, and the files of its assets have rows that mark them as referenced;
/// - every record has its entries in the indexes of its type, and no index has other entries (`IndexVerification`);
/// - every row's file exists, with its size and its content;
/// - every file has a row, or is condemned;
/// - an owner's byte count is the sum of its files' sizes.
///
/// The verification writes nothing, so a server may run meanwhile if a `RemovalLock` prevents the removal of files. Each
/// read may be another snapshot, as of a shared engine, and another server's lock may be elsewhere: what a file and its row
/// disagree about is reported only if a later read still has that row. A file counts as an orphan while it is uploaded.
package struct StoreVerification: Sendable {
    package struct Findings: Sendable {
        package var records = 0
        package var files = 0
        package var bytes: Int64 = 0
        /// The descriptions of the first problems, at most `listed`.
        package var problems: [String] = []
        package var problemCount = 0
        /// The names of the files without a row.
        package var orphans: [String] = []

        package mutating func note(_ problem: @autoclosure () -> String) {
            problemCount += 1
            if problems.count < StoreVerification.listed { problems.append(problem()) }
        }
    }

    /// The maximum number of problems per run that have a description.
    private static let listed = 100
    private static let pageSize = 1000
    /// The number of bytes of fields at which a page of records ends.
    private static let pageBytes = 16 << 20

    private let engine: any StorageEngine
    private let files: any AssetStore

    package init(_ engine: any StorageEngine, _ files: any AssetStore) {
        self.engine = engine
        self.files = files
    }

    package func run() async throws -> Findings {
        var findings = Findings()
        let names = try await allFiles()
        try await checkOwners(&findings)
        try await checkZones(&findings)
        let known = try await checkRows(&findings)
        findings.orphans = try await orphans(among: names.filter { !known.contains($0) })
        return findings
    }

    /// Returns the files that still exist and still have no row.
    private func orphans(among names: [String]) async throws -> [String] {
        if names.isEmpty { return [] }
        let condemned = Set(try await engine.read { try $0.condemnedAssetFiles(limit: .max) })
        var orphans: [String] = []
        for start in stride(from: 0, to: names.count, by: Self.pageSize) {
            let page = names[start..<min(start + Self.pageSize, names.count)].filter { !condemned.contains($0) }
            orphans += try await engine.read { reader in try page.filter { try !reader.hasAssetFile(named: $0) } }
        }
        // A row that was deleted since took its file along.
        return orphans.isEmpty ? [] : orphans.filter(Set(try await allFiles()).contains)
    }

    private func allFiles() async throws -> [String] {
        try await files.threads.run { [files] () -> [String] in
            var names: [String] = []
            while true {
                let page = try files.files(after: names.last ?? "", limit: Self.pageSize)
                if page.isEmpty { return names }
                names += page
            }
        }
    }

    // MARK: Owners

    private func checkOwners(_ findings: inout Findings) async throws {
        let strays = try await engine.read(expecting: .long) { reader in
            try reader.rowsWithoutZone(limit: Self.pageSize) + reader.rowsWithoutAccount(limit: Self.pageSize)
        }
        for rows in strays {
            let subject = rows.owner.map { "zone \(rows.id) of owner \($0)" } ?? "account \(rows.id)"
            findings.note(
                "\(rows.count) \(rows.count == 1 ? "row" : "rows") of \(rows.table): \(subject) (\(rows.column)) does not exist"
            )
        }
    }

    // MARK: Records

    private func checkZones(_ findings: inout Findings) async throws {
        let indexes = IndexVerification(engine)
        var zone = Int64(0)
        while true {
            let after = zone
            let zones = try await engine.read { try $0.zones(after: after, limit: Self.pageSize) }
            guard let last = zones.last else { return }
            zone = last.key.id
            for zone in zones {
                try await checkRecords(of: zone, indexes, &findings)
                try await indexes.checkEntries(of: zone, &findings)
            }
        }
    }

    private func checkRecords(
        of zone: ZoneRow, _ indexes: IndexVerification, _ findings: inout Findings
    ) async throws {
        var sequence = Int64(0)
        while true {
            let (start, before) = (sequence, findings)
            let page = try await engine.read { reader in
                var (page, live) = ((findings: before, end: start, count: 0), [RecordRow]())
                try reader.visitRecords(zone: zone.key, after: start, limit: Self.pageSize, size: Self.pageBytes) {
                    record in
                    page.end = record.sequence
                    page.count += 1
                    try Self.check(record, in: zone, reader, &page.findings)
                    if !record.isDamaged && !record.isDeleted { live.append(record.row) }
                }
                try indexes.checkRecords(live, in: zone, reader, &page.findings)
                return page
            }
            (findings, sequence) = (page.findings, page.end)
            if page.count == 0 { return }
        }
    }

    private static func check(
        _ record: RecordRowView, in zone: ZoneRow, _ reader: StorageReader, _ findings: inout Findings
    ) throws {
        func place() -> String { "record '\(String(decoding: record.name, as: UTF8.self))' in zone '\(zone.name)'" }
        if record.isDamaged { return findings.note("\(place()) is damaged") }
        if record.isDeleted { return }
        findings.records += 1
        for (name, value) in EncodedFields(bytes: Array(record.fields)).assets() {
            guard let content = value.content.flatMap(AssetContent.content) else {
                findings.note("\(place()): field '\(name)' names no content")
                continue
            }
            guard let row = try reader.asset(owner: zone.key.owner, content: content) else {
                findings.note("\(place()): the file of field '\(name)' has no row")
                continue
            }
            if row.neededUntil != AssetRow.referenced {
                findings.note("\(place()): the file of field '\(name)' is not kept for it")
            }
            if row.size != value.size || row.checksum != value.fileChecksum {
                findings.note("\(place()): field '\(name)' and its file's row differ")
            }
        }
    }

    // MARK: Files

    /// - Returns: the file names of all rows.
    private func checkRows(_ findings: inout Findings) async throws -> Set<String> {
        var names: Set<String> = []
        var owners: Set<OwnerID> = []
        var last = ""
        while true {
            let after = last
            let rows = try await engine.read { try $0.assets(afterFile: after, limit: Self.pageSize) }
            guard let end = rows.last else { break }
            last = end.file
            for row in rows {
                names.insert(row.file)
                owners.insert(row.owner)
                findings.files += 1
                findings.bytes += row.size
                let problem = try await files.threads.run { [files] in try Self.problem(of: row, files) }
                // A file is removed after its row, and no other file gets its name.
                if let problem, try await engine.read({ try $0.hasAssetFile(named: row.file) }) {
                    findings.note("file \(row.file) \(problem)")
                }
            }
        }
        for owner in owners {
            let (sum, noted) = try await engine.read {
                (try $0.assetBytesOfFiles(owner: owner), try $0.assetBytes(owner: owner))
            }
            if noted != sum {
                findings.note("owner \(owner.rawValue) has files of \(sum) bytes, and \(noted) are noted")
            }
        }
        return names
    }

    /// Describes the problem of a row's file; nil if the file is intact.
    private static func problem(of row: AssetRow, _ files: any AssetStore) throws -> String? {
        do {
            guard let file = try files.open(row.file) else { return "is missing" }
            if file.size != row.size { return "has \(file.size) bytes instead of \(row.size)" }
            return try AssetCopy.content(of: file) == row.hash ? nil : "has another content than when it was saved"
        } catch let error as StorageError {
            return "cannot be read: \(error.message)"
        }
    }
}

/// Copies asset files between asset stores.
package enum AssetCopy {
    private static let pieceSize = 1 << 20

    /// Reads a file and returns the hash of its content. `take` receives each piece of the file.
    static func content(of file: any AssetFileReader, _ take: (UnsafeRawBufferPointer) throws -> Void = { _ in }) throws
        -> [UInt8]
    {
        let hash = StreamingHash(.content)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try file.read(into: buffer, at: offset)
            if count == 0 { return hash.finish() }
            let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            hash.update(piece)
            try take(piece)
            offset += Int64(count)
        }
    }

    /// Copies the files of all rows, except files that the target already has.
    /// - Parameter progress: called with the size in bytes of each file that was copied or that the target already had.
    /// - Returns: a description of each file that could not be copied.
    package static func all(
        of engine: any StorageEngine, from source: any AssetStore, to target: any AssetStore,
        progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> [String] {
        var problems: [String] = []
        var last = ""
        while true {
            let after = last
            let rows = try await engine.read { try $0.assets(afterFile: after, limit: 500) }
            guard let end = rows.last else { return problems }
            last = end.file
            for row in rows {
                let problem = try await target.threads.run { try copy(row, from: source, to: target) }
                if let problem {
                    problems.append("file \(row.file) \(problem)")
                } else {
                    progress(row.size)
                }
            }
        }
    }

    private static func copy(_ row: AssetRow, from source: any AssetStore, to target: any AssetStore) throws -> String?
    {
        // An earlier attempt copied the file.
        if let there = try target.open(row.file), there.size == row.size { return nil }
        guard let file = try source.open(row.file) else { return "is missing" }
        let writer = try target.makeFile()
        guard file.size == row.size, try content(of: file, writer.write) == row.hash else {
            writer.discard()
            return "has another content than when it was saved"
        }
        try writer.publish(as: row.file)
        try writer.settle()
        return nil
    }
}
