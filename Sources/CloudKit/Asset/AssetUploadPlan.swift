import Foundation
import Glibc
import NephosWire

/// The location of an asset in a record: the key of the field, and the index in its list.
struct AssetSlot: Hashable, Sendable {
    var key: CKRecord.FieldKey
    var index: Int
}

/// The field of a record that contains an asset.
struct AssetPlace: Hashable, Sendable {
    var recordID: CKRecord.ID
    var key: String
}

extension RecordSnapshot {
    /// An asset whose file must be uploaded.
    package typealias WaitingAsset = (key: CKRecord.FieldKey, index: Int, asset: CKAsset)

    /// Returns the assets to upload, by field. The assets of a list are in order. An asset that was fetched or saved
    /// with the record is not uploaded again, unless the service no longer has its file in this field.
    package func assetsToUpload(_ selection: FieldSelection, lacksFiles: Bool = false) -> [WaitingAsset] {
        state.sortedFields().flatMap { key, value -> [WaitingAsset] in
            guard selection == .all || state.changes[key] != nil else { return [] }
            let place = AssetPlace(recordID: recordID, key: key)
            let saved = lacksFiles ? [] : state.originalFields[key]?.value.assets ?? []
            return value.assets.enumerated().compactMap { index, asset in
                guard asset.fileURL != nil || asset.wireValue == nil,
                    !saved.contains(where: { $0.wireValue != nil && asset.isSame(as: $0, in: place) })
                else { return nil }
                return (key, index, asset)
            }
        }
    }
}

extension RecordValue {
    /// Returns the value to send, with its assets as they were uploaded.
    func wireValue(
        in context: WireContext, _ place: AssetPlace, _ uploaded: [AssetSlot: AssetValue]
    ) -> FieldValue? {
        func sent(_ asset: CKAsset, _ index: Int) -> AssetValue? {
            if let value = uploaded[AssetSlot(key: place.key, index: index)] { return value }
            // An unchanged value that is sent back for its own field keeps its file.
            return asset.wireValue(in: place).map { AssetValue(fileChecksum: $0.fileChecksum, size: $0.size) }
        }
        switch self {
        case .asset(let asset): return sent(asset, 0).map(FieldValue.asset)
        case .list(let values) where !assets.isEmpty:
            let elements = values.flatMap(\.assets).enumerated().compactMap { sent($1, $0) }
            return elements.count == values.count ? .list(of: .asset, elements.map(FieldValue.asset)) : nil
        default: return wireValue(in: context)
        }
    }
}

/// The status of a file at the start of its upload, which detects writes during the upload.
struct FileStamp: Equatable, Sendable {
    private var device: UInt64
    private var number: UInt64
    private(set) var size: Int64
    private var seconds: Int
    private var nanoseconds: Int

    /// - Throws: the failure with the code that Apple's framework reports for a missing or unreadable file.
    init(path: String) throws(AssetFileFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw errno == ENOENT || errno == ENOTDIR ? .notFound(path) : .unreadable(path)
        }
        guard status.st_mode & S_IFMT == S_IFREG, access(path, R_OK) == 0 else { throw .unreadable(path) }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }
}

/// A problem with the local file of an asset.
enum AssetFileFailure: Error, Hashable, Sendable {
    case notFound(String)
    case unreadable(String)
    case modified(String)
}

extension CKError {
    init(_ failure: AssetFileFailure, key: CKRecord.FieldKey, _ errors: ErrorContext) {
        switch failure {
        case .notFound(let path):
            self.init(
                .assetFileNotFound, "The field \"\(key)\" holds an asset whose file does not exist: \(path)", errors)
        case .unreadable(let path):
            self.init(
                .assetNotAvailable, "The field \"\(key)\" holds an asset whose file cannot be read: \(path)", errors)
        case .modified(let path):
            self.init(
                .assetFileModified,
                "The field \"\(key)\" holds an asset whose file changed while it was uploaded: \(path)", errors)
        }
    }
}
