import Glibc
import NephosService
import NephosWire

/// The directory for the asset files of an export. Each file is named by its content, so no content is stored twice.
struct AssetFolder {
    static let option = CommandOption(
        "--assets", "DIRECTORY",
        """
        The files of assets, each called by the hash of its content. Without it
        none is exported, and no record imported that has one.
        """)

    let path: String

    /// Creates the directory for writing, if it is missing.
    init(making path: String) throws(Cloud.Failure) {
        self.path = path
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw Cloud.Failure(message: "cannot make \(path): \(String(cString: strerror(errno)))")
        }
        try check()
    }

    /// Opens an existing directory for reading.
    init(reading path: String) throws(Cloud.Failure) {
        self.path = path
        try check()
    }

    private func check() throws(Cloud.Failure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw Cloud.Failure(message: "cannot read \(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw Cloud.Failure(message: "\(path) is no directory.") }
    }

    // MARK: Export

    /// Downloads the file of an asset whose record was just read.
    /// - Returns: the asset in the form of an export, without the members that the service generates for each answer.
    /// - Throws: `Cloud.FileFailure` if the file is not available.
    func take(_ asset: AssetValue, from cloud: Cloud) throws -> AssetValue {
        guard let address = asset.downloadURL else { throw Cloud.FileFailure(message: "it has no address") }
        let name = try AssetAddressParts(address).content
        guard AssetAddress.isContent(name) else { throw Cloud.FileFailure(message: "its address names no content") }
        let file = "\(path)/\(name)"
        if access(file, F_OK) != 0 || (try? AssetAddress.content(ofFileAt: file)) != name {
            try download(address, name, to: file, cloud)
        }
        return AssetValue(fileChecksum: asset.fileChecksum, size: asset.size, content: name)
    }

    private func download(_ address: String, _ name: String, to file: String, _ cloud: Cloud) throws {
        let temporary = "\(path)/.\(name)-\(getpid())"
        unlink(temporary)
        defer { unlink(temporary) }
        try cloud.download(address, to: temporary)
        guard try AssetAddress.content(ofFileAt: temporary) == name else {
            throw Cloud.FileFailure(message: "it is not what was saved")
        }
        guard rename(temporary, file) == 0 else {
            throw Cloud.Failure(message: "cannot write \(file): \(String(cString: strerror(errno)))")
        }
    }

    // MARK: Import

    /// Uploads the files that the assets of an operation name.
    /// - Returns: the operation with the values that the uploads returned.
    func upload(_ operation: RecordOperation, to cloud: Cloud) throws -> RecordOperation {
        let record = operation.record
        var (fields, files): ([AssetField], [File]) = ([], [])
        for entry in record.fields.entries {
            for asset in entry.field.value?.assets ?? [] where asset.content != nil {
                files.append(try file(of: asset, field: entry.name))
                fields.append(
                    AssetField(recordName: record.recordName, recordType: record.recordType, fieldName: entry.name))
            }
        }
        if files.isEmpty { return operation }
        let addresses = try cloud.uploadAddresses(fields, in: record.zoneID)
        var uploaded: [AssetValue] = []
        for (file, address) in zip(files, addresses) {
            let value = try cloud.upload(file.path, size: file.asset.size, to: address)
            guard value.fileChecksum == file.asset.fileChecksum, value.size == file.asset.size else {
                throw Cloud.Failure(message: "\(file.path) is not the file that was exported: its content is another.")
            }
            uploaded.append(value)
        }
        return operation.replacingFiles(by: uploaded)
    }

    private struct File {
        var path: String
        var asset: AssetValue
    }

    /// Returns the file of an asset. Its size must be the size in the asset.
    private func file(of asset: AssetValue, field: String) throws(Cloud.Failure) -> File {
        guard let name = asset.content, AssetAddress.isContent(name) else {
            throw Cloud.Failure(message: "field '\(field)': nephosContent is not the name of a file's content.")
        }
        let file = "\(path)/\(name)"
        var status = stat()
        guard stat(file, &status) == 0 else {
            throw Cloud.Failure(message: "field '\(field)': cannot read \(file): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == asset.size else {
            throw Cloud.Failure(message: "field '\(field)': \(file) is no file of \(asset.size) bytes.")
        }
        return File(path: file, asset: asset)
    }
}

extension RecordOperation {
    /// Whether the operation has assets whose files are in a directory.
    var namesFiles: Bool {
        record.fields.entries.contains { $0.field.value?.assets.contains { $0.content != nil } ?? false }
    }

    /// - Parameter values: the assets that replace those with files, in the same order.
    fileprivate func replacingFiles(by values: [AssetValue]) -> RecordOperation {
        var operation = self
        var rest = values[...]
        for entry in record.fields.entries {
            let replaced = entry.field.value?.mappingAssets { asset in
                asset.content == nil ? asset : rest.popFirst() ?? asset
            }
            guard let replaced else { continue }
            operation.record.fields[entry.name] = Field(
                replaced, hasDeclaredType: entry.field.hasDeclaredType, isEncrypted: entry.field.isEncrypted)
        }
        return operation
    }
}
