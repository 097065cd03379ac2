import Foundation
import Glibc
import NephosCrypto
import NephosThreads
import NephosWire

/// Receives the transferred fraction of a record's files: from 0 to 1, monotonic.
typealias TransferProgress = @Sendable (CKRecord.ID, Double) -> Void

/// The number of transferred bytes of one record's files, including partial transfers.
private final class RecordTransfer: Sendable {
    private struct State {
        var bytes: [Int: Int64] = [:]
        var reported = 0.0
    }

    private let recordID: CKRecord.ID
    private let total: Int64
    private let report: TransferProgress?
    private let state = Locked(State())

    init(_ recordID: CKRecord.ID, total: Int64, _ report: TransferProgress?) {
        self.recordID = recordID
        self.total = max(1, total)
        self.report = report
    }

    /// - Parameter file: the index of the file among the files of the record.
    func note(_ bytes: Int64, of file: Int) {
        guard let report else { return }
        let fraction = state.withLock { state -> Double? in
            state.bytes[file] = bytes
            let fraction = Double(state.bytes.values.reduce(0, +)) / Double(total)
            // The completion of the record reports the fraction 1.
            guard fraction < 1, fraction >= state.reported + 0.01 else { return nil }
            state.reported = fraction
            return fraction
        }
        if let fraction { report(recordID, fraction) }
    }
}

/// Calls `body` for each of `items`, `width` at a time. Returns the results in the order of the items.
private func concurrently<Item: Sendable, Value: Sendable>(
    _ items: [Item], width: Int, _ body: @escaping @Sendable (Item) async -> Value
) async -> [Value] {
    await withTaskGroup(of: (Int, Value).self) { group in
        var values: [Value?] = Array(repeating: nil, count: items.count)
        for index in items.indices {
            if index >= width, let (done, value) = await group.next() { values[done] = value }
            group.addTask { (index, await body(items[index])) }
        }
        for await (done, value) in group { values[done] = value }
        return values.compactMap(\.self)
    }
}

// MARK: - Upload

/// A record whose files must be uploaded before it is saved.
struct WaitingRecord: Sendable {
    var recordID: CKRecord.ID
    var recordType: CKRecord.RecordType
    /// The name of the record's parent; nil for none.
    var parent: String?
    var assets: [Asset]

    struct Asset: Sendable {
        var slot: AssetSlot
        var asset: CKAsset
    }
}

extension DatabaseRequestContext {
    typealias UploadResult = Result<[AssetSlot: AssetValue], CKError>

    /// The maximum number of concurrent transfers per operation. A simulated device has one at a time, in an order that a
    /// simulation repeats: reading and writing files takes real time.
    private var width: Int { session.service.simulatedExecutor == nil ? 4 : 1 }

    /// Sends assets/upload and uploads the files. Returns the values that the record's assets are saved as, or the
    /// failure of the record.
    /// - Throws: a failure of the whole operation.
    func upload(_ records: [WaitingRecord], _ progress: TransferProgress?) async throws(CKError) -> [UploadResult] {
        let prepared = records.map { record in Result { () throws(CKError) in try prepare(record) } }
        var ready = prepared.compactMap { try? $0.get() }
        for index in ready.indices { ready[index].isSealed = await sealsAssets(of: ready[index].record) }
        let addresses = try await uploadAddresses(ready)
        let jobs = zip(ready, addresses).flatMap { record, addresses -> [UploadJob] in
            guard case .success(let addresses) = addresses else { return [] }
            let transfer = RecordTransfer(
                record.record.recordID, total: record.stamps.reduce(0) { $0 + $1.size }, progress)
            return zip(zip(record.record.assets, record.stamps), addresses).enumerated().map { index, item in
                UploadJob(
                    recordID: record.record.recordID, asset: item.0.0, stamp: item.0.1, address: item.1, index: index,
                    key: record.isSealed ? .random() : nil, transfer: transfer)
            }
        }
        let uploaded = await concurrently(jobs, width: width) { await upload($0) }
        var values: [CKRecord.ID: UploadResult] = [:]
        for (job, result) in zip(jobs, uploaded) {
            switch (values[job.recordID] ?? .success([:]), result) {
            case (.success(var slots), .success(let value)):
                slots[job.asset.slot] = value
                values[job.recordID] = .success(slots)
            case (.success, .failure(let error)): values[job.recordID] = .failure(error)
            case (.failure, _): break
            }
        }
        for (record, addresses) in zip(ready, addresses) {
            if case .failure(let error) = addresses { values[record.record.recordID] = .failure(error) }
        }
        return zip(records, prepared).map { record, prepared in
            if case .failure(let error) = prepared { return .failure(error) }
            return values[record.recordID] ?? .success([:])
        }
    }

    private struct PreparedRecord: Sendable {
        var record: WaitingRecord
        var stamps: [FileStamp]
        var isSealed = false
    }

    private struct UploadJob: Sendable {
        var recordID: CKRecord.ID
        var asset: WaitingRecord.Asset
        var stamp: FileStamp
        var address: String
        var index: Int
        /// The key that seals the file; nil if the file is not sealed.
        var key: SealKey?
        var transfer: RecordTransfer
    }

    private func prepare(_ record: WaitingRecord) throws(CKError) -> PreparedRecord {
        var stamps: [FileStamp] = []
        for waiting in record.assets {
            guard let path = waiting.asset.fileURL?.path else {
                throw CKError(
                    .assetNotAvailable, "The field \"\(waiting.slot.key)\" holds an asset that has no file.", errors)
            }
            do throws(AssetFileFailure) {
                stamps.append(try FileStamp(path: path))
            } catch {
                throw CKError(error, key: waiting.slot.key, errors)
            }
        }
        return PreparedRecord(record: record, stamps: stamps)
    }

    /// Requests the upload addresses of each record's files. If the service finds a request of several records invalid,
    /// each record is requested alone, so that one refused record does not block the others.
    private func uploadAddresses(
        _ records: [PreparedRecord]
    ) async throws(CKError) -> [Result<[String], CKError>] {
        var results: [Result<[String], CKError>] = []
        var rest = records[...]
        while let first = rest.first {
            let zone = first.record.recordID.zoneID
            var tokens = 0
            let together = rest.prefix { record in
                tokens += record.record.assets.count
                return record.record.recordID.zoneID == zone
                    && (tokens <= Self.tokensPerRequest || record.record.recordID == first.record.recordID)
            }
            let some = Array(together)
            rest = rest.dropFirst(some.count)
            do throws(ServiceFailure) {
                results += try await requestAddresses(some)
            } catch {
                guard case .refused(let refusal) = error else { throw CKError(error, errors) }
                if some.count == 1 || refusal.serverErrorCode != .badRequest {
                    results += some.map { _ in .failure(CKError(error, errors)) }
                    continue
                }
                for record in some {
                    do throws(ServiceFailure) {
                        results += try await requestAddresses([record])
                    } catch {
                        guard case .refused = error else { throw CKError(error, errors) }
                        results.append(.failure(CKError(error, errors)))
                    }
                }
            }
        }
        return results
    }

    /// The maximum number of files per upload request (CloudKit Web Services, Data Size Limits).
    private static let tokensPerRequest = 200

    private func requestAddresses(
        _ records: [PreparedRecord]
    ) async throws(ServiceFailure) -> [Result<[String], CKError>] {
        let zone = records.first?.record.recordID.zoneID ?? .default
        let fields = records.flatMap { record in
            record.record.assets.map {
                AssetField(
                    recordName: record.record.recordID.recordName, recordType: record.record.recordType,
                    fieldName: $0.slot.key, isSealed: record.isSealed)
            }
        }
        var tokens: [AssetUploadResponse.Result] = []
        for start in stride(from: 0, to: fields.count, by: Self.tokensPerRequest) {
            let some = Array(fields[start..<min(start + Self.tokensPerRequest, fields.count)])
            let answer = try await session.service.send(
                .assetUploads, AssetUploadRequest(zoneID: zone.wireValue, tokens: some), call)
            guard answer.tokens.count == some.count else {
                throw .transport(
                    .internalError, "The service answered \(some.count) items with \(answer.tokens.count) results.")
            }
            tokens += answer.tokens
        }
        var rest = tokens[...]
        return records.map { record in
            defer { rest = rest.dropFirst(record.record.assets.count) }
            return Result { () throws(CKError) in
                try rest.prefix(record.record.assets.count).map { (token) throws(CKError) in
                    switch token {
                    case .token(let token): token.url
                    case .failure(let error): throw CKError(error, errors)
                    }
                }
            }
        }
    }

    private func upload(_ job: UploadJob) async -> Result<AssetValue, CKError> {
        let key = job.asset.slot.key
        guard let file = job.asset.asset.fileURL else {
            return .failure(CKError(.assetNotAvailable, "The asset has no file.", errors))
        }
        let content = AssetContent(file: file, size: job.stamp.size, key: job.key)
        do throws(ServiceFailure) {
            let uploaded = try await session.service.upload(content, to: job.address, call) {
                job.transfer.note($0, of: job.index)
            }
            do throws(AssetFileFailure) {
                guard try FileStamp(path: file.path) == job.stamp else { throw .modified(file.path) }
            } catch {
                return .failure(CKError(error, key: key, errors))
            }
            var value = uploaded.singleFile
            guard value.size == content.size else {
                return .failure(CKError(AssetFileFailure.modified(file.path), key: key, errors))
            }
            value.seal = job.key.map { .key($0.bytes) }
            job.asset.asset.noteUpload(value, for: AssetPlace(recordID: job.recordID, key: key))
            return .success(value)
        } catch {
            // The service refuses bytes that differ from the announced ones. If the file has changed meanwhile, the
            // error names that reason.
            if let stamp = try? FileStamp(path: file.path), stamp != job.stamp {
                return .failure(CKError(AssetFileFailure.modified(file.path), key: key, errors))
            }
            return .failure(CKError(error, errors))
        }
    }
}

// MARK: - Download

extension DatabaseRequestContext {
    /// Downloads the files of fetched records.
    /// - Returns: the errors of the records that have a file which could not be downloaded.
    func downloadAssets(
        of records: [CKRecord], _ progress: TransferProgress? = nil
    ) async -> [CKRecord.ID: CKError] {
        let jobs = records.flatMap { record -> [DownloadJob] in
            let waiting = record.snapshot().state.fields.flatMap { field -> [DownloadJob] in
                field.value.value.assets.compactMap { asset in
                    guard asset.fileURL == nil, let value = asset.wireValue, let address = value.downloadURL else {
                        return nil
                    }
                    return DownloadJob(
                        recordID: record.recordID, key: field.key, asset: asset, value: value, address: address)
                }
            }
            let transfer = RecordTransfer(
                record.recordID, total: waiting.reduce(0) { $0 + $1.value.size }, progress)
            return waiting.enumerated().map { index, job in
                var job = job
                job.index = index
                job.transfer = transfer
                return job
            }
        }
        if jobs.isEmpty { return [:] }
        let account = await assetAccount()
        let failures = await concurrently(jobs, width: width) { job in await download(job, account) }
        var errors: [CKRecord.ID: CKError] = [:]
        for (job, failure) in zip(jobs, failures) {
            if let failure, errors[job.recordID] == nil { errors[job.recordID] = failure }
        }
        return errors
    }

    /// Returns the results, with the files of their records, or with the error of a failed download.
    func withAssets(
        _ results: [Result<CKRecord, CKError>], _ progress: TransferProgress? = nil
    ) async -> [Result<CKRecord, CKError>] {
        let failures = await downloadAssets(of: results.compactMap { try? $0.get() }, progress)
        if failures.isEmpty { return results }
        return results.map { result in
            guard case .success(let record) = result, let failure = failures[record.recordID] else { return result }
            return .failure(failure)
        }
    }

    private struct DownloadJob: Sendable {
        var recordID: CKRecord.ID
        var key: CKRecord.FieldKey
        var asset: CKAsset
        var value: AssetValue
        var address: String
        var index = 0
        var transfer: RecordTransfer?
    }

    /// Returns the name of the account in the cache; nil if the files of the service are not cached.
    private func assetAccount() async -> String? {
        guard let service = session.service.assetCacheName else { return nil }
        let user = await session.userRecordName(call) ?? ""
        let hash = StreamingHash(.blake2b)
        for part in [service, session.identifier, user] { hash.update(Array(part.utf8) + [0]) }
        return Hexadecimal.text(hash.finish().prefix(16))
    }

    private func download(_ job: DownloadJob, _ account: String?) async -> CKError? {
        do {
            job.asset.noteDownload(try await file(job, account))
            return nil
        } catch let failure as ServiceFailure {
            return CKError(failure, errors)
        } catch is SealedFile.DoesNotOpen {
            return CKError(
                .assetNotAvailable,
                "The file of the field \"\(job.key)\" does not open: it was changed since it was sealed.", errors)
        } catch {
            return CKError(
                .assetNotAvailable, "The file of the field \"\(job.key)\" cannot be kept on this machine: \(error)",
                errors)
        }
    }

    private func file(_ job: DownloadJob, _ account: String?) async throws -> AssetFileKeeper {
        let files = AssetFiles.shared
        let content = AssetLocation.content(of: job.address)
        let key = job.asset.key
        if let account, let content,
            let cached = try await onFiles(
                unlessCancelled: true,
                {
                    try files.copy(content, of: account, openedWith: key)
                })
        {
            return cached
        }
        if let account, let content {
            let temporary = try await onFiles { try files.makeTemporary(account) }
            defer { try? FileManager.default.removeItem(at: temporary) }
            try await receive(job, to: temporary, content)
            return try await onFiles {
                try files.add(temporary, as: content, of: account)
                guard let copy = try files.copy(content, of: account, openedWith: key) else {
                    throw CocoaError(.fileNoSuchFile)
                }
                return copy
            }
        }
        let keeper = try await onFiles { try files.makeFile() }
        try await receive(job, to: keeper.url, content)
        guard let key else { return keeper }
        return try await onFiles {
            defer { unlink(keeper.url.path) }
            let opened = try files.makeFile()
            try SealedFile.open(ofFileAt: keeper.url.path, with: key, to: opened.url.path)
            return opened
        }
    }

    private func onFiles<Value: Sendable>(
        unlessCancelled: Bool = false, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let simulated = session.service.simulatedExecutor
        simulated?.workBegan()
        defer { simulated?.workEnded() }
        return try await unlessCancelled
            ? BlockingPool.files.runUnlessCancelled(body) : BlockingPool.files.run(body)
    }

    /// Downloads a file, and verifies it against the record.
    private func receive(_ job: DownloadJob, to file: URL, _ content: String?) async throws {
        try await session.service.download(job.address, to: file, call) { job.transfer?.note($0, of: job.index) }
        let isWhole = try await onFiles {
            if let content { return try FileCopy.contentName(ofFileAt: file.path) == content }
            return try FileCopy.checksum(ofFileAt: file.path) == job.value.fileChecksum
        }
        guard isWhole else {
            throw ServiceFailure.transport(
                .assetNotAvailable, "The file of the field \"\(job.key)\" did not arrive as it was saved.")
        }
    }
}

/// Parses the addresses of files at Nephos' own service.
enum AssetLocation {
    /// Returns the name of the content in an address of the form
    /// `…/assets/1/{container}/{environment}/{content}/{token}/…`; nil for any other address.
    static func content(of address: String) -> String? {
        guard let path = path(of: address) else { return nil }
        let parts = path.split(separator: "/")
        guard parts.count > 5, parts[0] == "assets", parts[1] == "1", parts[4].utf8.count == 64,
            parts[4].allSatisfy({ $0.isHexDigit && !$0.isUppercase })
        else { return nil }
        return String(parts[4])
    }

    /// Returns the address of an asset without its scheme and host; nil if the address does not belong to a Nephos
    /// service.
    static func path(of address: String) -> Substring? {
        let path: Substring
        if address.hasPrefix("/") {
            path = address[...]
        } else {
            guard let host = address.range(of: "://"), let slash = address[host.upperBound...].firstIndex(of: "/")
            else {
                return nil
            }
            path = address[slash...]
        }
        return path.hasPrefix("/assets/") ? path : nil
    }
}
