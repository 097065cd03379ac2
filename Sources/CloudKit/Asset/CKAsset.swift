public import Foundation
import NephosCrypto
package import NephosWire

/// A file that belongs to a field of a record.
///
/// Apple's interface does not say that it can be archived, though records with assets are; here it can.
open class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Unchecked because the class is open; all mutable state is in a `Locked`.

    private struct State {
        var file: URL?
        var wireValue: AssetValue?
        /// The value by the fields that the file was uploaded for: each sealing produces other bytes.
        var uploads: [AssetPlace: AssetValue] = [:]
        /// The key that opens the file; nil if the file is not sealed.
        var key: SealKey?
        /// Keeps a downloaded file alive.
        var keeper: AssetFileKeeper?
    }

    private let state: Locked<State>

    /// The file: the app's own until the save, a copy of its own after a fetch, nil if it was not downloaded.
    ///
    /// A downloaded file exists as long as the asset; copy the file to use it for longer.
    open var fileURL: URL? { state.withLock { $0.file } }
    /// The service's value of the file; nil until it was uploaded.
    package var wireValue: AssetValue? { state.withLock { $0.wireValue } }

    /// An asset made of the file at `fileURL`. Only the file's bytes are stored, not its name.
    public init(fileURL: URL) {
        raise(unless: fileURL.isFileURL, "CKAsset: \(fileURL) is no file URL.")
        state = Locked(State(file: fileURL))
    }

    /// An asset that came from the service (or an archive), downloaded to `fileURL` or not.
    package init(wireValue: AssetValue?, fileURL: URL? = nil) {
        state = Locked(State(file: fileURL, wireValue: wireValue))
    }

    /// Returns the service's value of the file in a field.
    func wireValue(in place: AssetPlace) -> AssetValue? { state.withLock { $0.uploads[place] ?? $0.wireValue } }

    /// Stores the value under which the file was uploaded for a field.
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
