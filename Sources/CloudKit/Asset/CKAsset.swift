public import Foundation
package import NephosWire

/// A file that belongs to a field of a record.
open class CKAsset: NSObject, @unchecked Sendable {
    // Unchecked because the class is open; everything in it is constant.

    /// The file: the app's own until it is saved, CloudKit's copy of it after a fetch, nil where it was not downloaded.
    open var fileURL: URL? { file }
    private let file: URL?
    /// What the service knows of the file; nil until it was uploaded.
    package let wireValue: AssetValue?

    /// An asset made of the file at `fileURL`. Only the file's bytes are stored, not its name.
    public init(fileURL: URL) {
        precondition(fileURL.isFileURL, "CKAsset: \(fileURL) is no file URL.")
        file = fileURL
        wireValue = nil
    }

    /// An asset that came from the service (or an archive), downloaded to `fileURL` or not.
    package init(wireValue: AssetValue?, fileURL: URL? = nil) {
        file = fileURL
        self.wireValue = wireValue
    }

    open override var description: String {
        let size = wireValue.map { "\($0.size)" } ?? "nil"
        return "<CKAsset: \(address(of: self)); fileURL=\(fileURL?.path ?? "nil"), size=\(size)>"
    }

    open override var debugDescription: String { description }
}
