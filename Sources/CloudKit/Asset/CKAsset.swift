public import Foundation
import NephosCrypto
package import NephosWire

/// A file that is the value of a record's field, or part of it.
///
/// Apple's interface declares no archiving for it, although records with assets can be archived. Here an asset can be
/// archived too.
open class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Unchecked because the class is open. All mutable state is in a `Locked`.

    private struct State {
        var file: URL?
        var wireValue: AssetValue?
        /// The service's value of the file, by the field that the file was uploaded for. The values differ, because
        /// each sealing results in other bytes.
        var uploads: [AssetPlace: AssetValue] = [:]
        /// The key that opens the file; nil if the file is not sealed, or if its key is missing.
        var key: SealKey?
        /// The owner of a downloaded file, which keeps the file; nil if the file was not downloaded.
        var keeper: AssetFileKeeper?
    }

    private let state: Locked<State>

    /// The URL of the file: the app's own file until the save, and a copy that belongs to the asset after a fetch. Nil
    /// if the file was not downloaded.
    ///
    /// A downloaded file exists as long as the asset. Apps that need the file for longer copy it.
    open var fileURL: URL? { state.withLock { $0.file } }
    /// The service's value of the file; nil until the file was uploaded.
    package var wireValue: AssetValue? { state.withLock { $0.wireValue } }

    /// Creates an asset from the file at `fileURL`. Only the bytes of the file are stored, not its name.
    public init(fileURL: URL) {
        raise(unless: fileURL.isFileURL, "CKAsset: \(fileURL) is no file URL.")
        state = Locked(State(file: fileURL))
    }

    /// Creates an asset that came from the service or an archive. `fileURL` is nil if its file was not downloaded.
    package init(wireValue: AssetValue?, fileURL: URL? = nil) {
        state = Locked(State(file: fileURL, wireValue: wireValue))
    }

    /// Returns the service's value of the file in a field; nil if the file was not uploaded.
    func wireValue(in place: AssetPlace) -> AssetValue? { state.withLock { $0.uploads[place] ?? $0.wireValue } }

    /// Stores the value as which the file was uploaded for a field.
    func noteUpload(_ value: AssetValue, for place: AssetPlace) {
        let known = AssetValue(fileChecksum: value.fileChecksum, size: value.size)
        state.withLock { state in
            state.uploads[place] = known
            if state.wireValue == nil { state.wireValue = known }
        }
    }

    /// The key that opens the file; nil if the file is not sealed, or its key is missing.
    var key: SealKey? { state.withLock { $0.key } }

    func noteKey(_ key: SealKey) { state.withLock { $0.key = key } }

    /// Stores the downloaded file.
    func noteDownload(_ keeper: AssetFileKeeper) {
        state.withLock { state in
            state.file = keeper.url
            state.keeper = keeper
        }
    }

    /// Whether the service has the same file for both assets in a field.
    func isSame(as other: CKAsset, in place: AssetPlace) -> Bool {
        if self === other { return true }
        guard let mine = wireValue(in: place), let theirs = other.wireValue(in: place) else { return false }
        return mine.fileChecksum == theirs.fileChecksum && mine.size == theirs.size
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        let archived = ArchivedAsset(coder: coder)
        state = Locked(State(file: archived.fileURL, wireValue: archived.wireValue))
    }

    open func encode(with coder: NSCoder) { ArchivedAsset(self).encode(with: coder) }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.asset.archiverClass(for: self) }

    open override var description: String {
        let size = wireValue.map { "\($0.size)" } ?? "nil"
        return "<CKAsset: \(address(of: self)); fileURL=\(fileURL?.path ?? "nil"), size=\(size)>"
    }

    open override var debugDescription: String { description }
}
