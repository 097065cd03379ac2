import NephosWire

/// Saves the lines of an export in batches, one database after another.
struct RecordImport {
    /// The maximum number of operations per request: "The maximum number of operations in a request is 200" (CloudKit
    /// Web Services). A strict server accepts as many too.
    private static let operationsPerRequest = 200
    private static let bytesPerRequest = 1024 * 1024

    static let skipOrphans = CommandOption(
        "--skip-orphans", nil,
        "Leave out records whose owner, parent or validated target is missing, as after a deletion during the export.")

    private let lines: LineReader
    private let arguments: Arguments
    /// The database into which the current lines are saved.
    private var cloud: Cloud
    /// The directory of the asset files; nil if the user named none.
    private let assets: AssetFolder?
    private var progress: Progress
    private var batch: [NumberedOperation] = []
    private var batchSize = 0
    /// The operations that wait because records they refer to do not exist yet.
    private var deferred = WaitingOperations()
    /// The number of fields in existing records that the import keeps because the export cannot represent them.
    private var keptFields = 0
    private var skippedOrphans = SkippedOrphans()

    /// Whether the export is known to be of several databases.
    private let isOfSeveral: Bool

    init(_ lines: LineReader, _ cloud: Cloud, _ arguments: Arguments, isOfSeveral: Bool = false) throws {
        self.lines = lines
        self.isOfSeveral = isOfSeveral
        self.cloud = cloud
        self.arguments = arguments
        assets = try arguments[AssetFolder.option.name].map(AssetFolder.init(reading:))
        progress = Progress("imported", total: lines.size)
    }

    consuming func run() throws {
        while let line = try lines.next() {
            if line.starts(with: Self.headerStart) {
                try flush()
                try finish()
                try begin(line)
            } else if let zones = try? ModifyZonesRequest(decoding: line) {
                try flush()
                try make(zones)
            } else {
                try add(line)
            }
            progress.position = lines.position
        }
        try flush()
        try finish()
        progress.finish()
        if keptFields > 0 {
            Console.note(
                "\(keptFields) fields that the export left out are as they were in the records that were there.")
        }
        skippedOrphans.report()
    }

    /// The first bytes of a header as `ExportHeader` writes it.
    private static let headerStart = Array(#"{"nephosExport""#.utf8)

    /// What signs in to one database, or names it, and so is not for an export of several; nil for nothing.
    private static func single(_ arguments: Arguments) throws(UsageError) -> String? {
        if arguments.has("--database") { return "'--database'" }
        guard ImportCommand.signsInByToken(arguments, try CloudAddress(arguments)) else { return nil }
        let option = ServerCredentials.tokenOption.name
        return arguments.has(option) ? "'\(option)'" : "the token of NEPHOS_TOKEN or of 'nephos login'"
    }

    /// Reads the headers of a file before any record is imported.
    /// - Returns: whether the export is of several databases.
    /// - Throws: `Cloud.Failure` for credentials and options of one database, and for public records that no account could
    ///   save.
    static func isOfSeveral(_ path: String, _ arguments: Arguments) throws -> Bool {
        let single = try single(arguments)
        let signsIn =
            try arguments.has("--account") || ImportCommand.signsInByToken(arguments, try CloudAddress(arguments))
        let needsAccount = !signsIn && (arguments["--data"].map(ServeCommand.isProduction) ?? false)
        let lines = try LineReader(path)
        var isOfSeveral = false
        while let line = try lines.next() {
            guard line.starts(with: headerStart) else { continue }
            let place = "\(path):\(lines.line)"
            if lines.line > 1, let single {
                throw Cloud.Failure(
                    message:
                        "\(place): another database begins here, and \(single) is for an export of one. Nothing is "
                        + "imported.")
            }
            if needsAccount, (try? ExportHeader(decoding: line))?.database == "public" {
                throw Cloud.Failure(
                    message: "\(place): public records of a production server belong to an account: give '--account "
                        + "NAME', whose they become. Nothing is imported.")
            }
            if lines.line > 1 { isOfSeveral = true }
        }
        return isOfSeveral
    }

    /// Continues with another database. The line is its header.
    private mutating func begin(_ line: [UInt8]) throws {
        do {
            let header = try ExportHeader(decoding: line)
            let single =
                try Self.single(arguments) ?? (arguments.has("--account") && !isOfSeveral ? "'--account'" : nil)
            if let single {
                throw Cloud.Failure(
                    message:
                        "\(lines.path):\(lines.line): another database begins here, and \(single) is for an export of"
                        + " one. \(progress.count) records before it are imported.")
            }
            cloud = cloud.with(try ImportCommand.address(header, arguments, isOfSeveral: true))
        } catch let error as WireError {
            throw Cloud.Failure(message: "\(lines.path):\(lines.line): \(error)")
        }
    }

    private func make(_ zones: ModifyZonesRequest) throws {
        let results = try cloud.request("zones/modify", zones, as: ZonesResponse.self).zones
        for (operation, result) in zip(zones.operations, results) {
            switch result {
            case .failure(let error): throw failure(lines.line, error)
            case .zone(let zone):
                guard operation.operationType == .create, zone.encryptionScope != operation.encryptionScope else {
                    continue
                }
                Console.note(
                    "zone '\(zone.zoneID.zoneName)' is there already and keeps its encryption scope,"
                        + " \(zone.encryptionScope.rawValue): the export's is \(operation.encryptionScope.rawValue).")
            }
        }
    }

    private mutating func add(_ line: [UInt8]) throws {
        let request: ModifyRecordsRequest
        do {
            request = try ModifyRecordsRequest(decoding: line)
        } catch {
            throw Cloud.Failure(message: "\(lines.path):\(lines.line): \(error)")
        }
        for operation in request.operations {
            let isFull = batch.count == Self.operationsPerRequest || batchSize + line.count > Self.bytesPerRequest
            if isFull, !batch.isEmpty { try flush() }
            batch.append(NumberedOperation(line: lines.line, operation: try withFiles(operation)))
            batchSize += line.count
        }
    }

    /// Uploads the files of an operation, and returns the operation with the uploaded assets.
    private func withFiles(_ operation: RecordOperation) throws -> RecordOperation {
        guard operation.namesFiles else { return operation }
        let place = "\(lines.path):\(lines.line): record '\(operation.record.recordName ?? "")'"
        guard let assets else {
            throw Cloud.Failure(
                message:
                    "\(place) has files of assets: give '--assets DIRECTORY', as to the export. \(progress.count)"
                    + " records before it are imported.")
        }
        do {
            return try assets.upload(operation, to: cloud)
        } catch let failure as Cloud.Failure {
            throw Cloud.Failure(
                message: "\(place): \(failure.message) \(progress.count) records before it are imported.")
        }
    }

    private mutating func flush() throws {
        try save(batch, missing: deferred)
        batch = []
        batchSize = 0
    }

    /// Saves the deferred operations. Records that refer to each other must be in one request. If they are too many for
    /// one request, they are first saved without their references.
    private mutating func finish() throws {
        var waiting = deferred
        deferred = WaitingOperations()
        if waiting.isEmpty { return }
        waiting = try save(waiting) { $0 }
        if waiting.isEmpty { return }
        waiting = try withoutOrphans(waiting)
        // The second pass counts these records again, once they are complete.
        let (count, kept) = (progress.count, keptFields)
        _ = try save(waiting) { $0.withoutNeeds }
        progress.advance(by: count - progress.count)
        keptFields = kept
        waiting = try save(waiting) { $0 }
        guard waiting.isEmpty else {
            throw Cloud.Failure(
                message:
                    "\(lines.path): \(waiting.count) records refer to records that were deleted meanwhile, and are"
                    + " imported without their references.")
        }
    }

    /// Returns the operations whose targets will all exist.
    /// - Throws: `Cloud.Failure` for an operation with a missing target, unless the user gave `--skip-orphans`.
    private mutating func withoutOrphans(_ all: WaitingOperations) throws -> WaitingOperations {
        var waiting = all
        while true {
            let targets = try MissingTargets(of: waiting, in: cloud)
            guard let first = targets.first else { return waiting }
            guard arguments.has(Self.skipOrphans.name) else {
                throw Cloud.Failure(
                    message:
                        "\(lines.path):\(first.line): record '\(first.recordName)' refers to '\(first.target)', which is"
                        + " in none of the lines and not in the database: import with '\(Self.skipOrphans.name)' to"
                        + " leave out such records, as an owner's deletion would. \(progress.count) records are"
                        + " imported.")
            }
            let kept = WaitingOperations()
            try waiting.visit { operation, _ in
                if targets.block(operation.operation) {
                    skippedOrphans.note(operation)
                } else {
                    try kept.add(operation)
                }
            }
            waiting = kept
        }
    }

    /// - Returns: the operations that refer to missing records.
    private mutating func save(
        _ waiting: WaitingOperations, _ change: (RecordOperation) -> RecordOperation
    ) throws -> WaitingOperations {
        let missing = WaitingOperations()
        try waiting.forEachBatch(limit: Self.operationsPerRequest, bytes: Self.bytesPerRequest) { batch in
            try save(
                batch.map { NumberedOperation(line: $0.line, operation: change($0.operation)) }, missing: missing)
        }
        return missing
    }

    /// - Parameter missing: receives the operations that refer to missing records.
    private mutating func save(_ batch: [NumberedOperation], missing: WaitingOperations) throws {
        if batch.isEmpty { return }
        let request = ModifyRecordsRequest(operations: batch.map(\.operation), atomic: false)
        let results = try cloud.request("records/modify", request, as: RecordsResponse.self).records
        guard results.count == batch.count else { throw Cloud.Failure(message: "the answer lacks records") }
        let before = missing.count
        for (line, result) in zip(batch, results) {
            if case .record(let saved) = result { try note(saved, keeping: line.operation.record.keep) }
            guard case .failure(let error) = result else { continue }
            guard error.clientErrorCode == Self.referenceViolation else { throw failure(line.line, error) }
            try missing.add(line)
        }
        progress.advance(by: batch.count - (missing.count - before))
    }

    /// Counts the fields that the import keeps in an existing record.
    private mutating func note(_ saved: RecordDictionary, keeping names: [String]) throws {
        if names.isEmpty { return }
        let fields = try saved.fields.decoded()
        keptFields += names.count { fields[$0] != nil }
    }

    /// The raw value of `CKError.Code.referenceViolation`.
    private static let referenceViolation = 31

    private func failure(_ line: Int, _ error: ErrorDictionary) -> Cloud.Failure {
        Cloud.Failure(
            message:
                "\(lines.path):\(line): \(error.reason) (\(error.serverErrorCode.rawValue)). \(progress.count) records"
                + " before it are imported.")
    }
}
