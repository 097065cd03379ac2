public import Foundation
import NephosCrypto
package import NephosWire

/// A file that belongs to a field of a record.
///
/// Apple's interface does not say that it can be archived, though records with assets are; here it can.
open class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Unchecked because the class is open; everything in it that changes is in a `Locked`.

    private struct State {
        var file: URL?
        var wireValue: AssetValue?
        /// The same by the fields that the file was uploaded for: each time it is sealed it is other bytes.
        var uploads: [AssetPlace: AssetValue] = [:]
        /// What opens the file, where it is sealed.
        var key: SealKey?
        /// What keeps a downloaded file.
        var keeper: AssetFileKeeper?
    }

    private let state: Locked<State>

    /// The file: the app's own until it is saved, a copy of its own after a fetch, nil where it was not downloaded.
    ///
    /// What a fetch downloaded stays while the asset lives; take a copy of what is needed for longer.
    open var fileURL: URL? { state.withLock { $0.file } }
    /// What the service knows of the file; nil until it was uploaded.
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

    /// What the service knows of the file in a field.
    func wireValue(in place: AssetPlace) -> AssetValue? { state.withLock { $0.uploads[place] ?? $0.wireValue } }

    /// The file was uploaded for a field: what it is known by there from now on.
    func noteUpload(_ value: AssetValue, for place: AssetPlace) {
        let known = AssetValue(fileChecksum: value.fileChecksum, size: value.size)
        state.withLock { state in
            state.uploads[place] = known
            if state.wireValue == nil { state.wireValue = known }
        }
    }

    /// What opens the file; nil where it is not sealed, or its key was not had.
    var key: SealKey? { state.withLock { $0.key } }

    func noteKey(_ key: SealKey) { state.withLock { $0.key = key } }

    /// The file was downloaded.
    func noteDownload(_ keeper: AssetFileKeeper) {
        state.withLock { state in
            state.file = keeper.url
            state.keeper = keeper
        }
    }

    /// Whether the service has the same file for both in a field.
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
