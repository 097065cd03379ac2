public import Foundation

/// A position in the changes of a database or zone, from which a later fetch continues (CKServerChangeToken, Apple's
/// documentation). Its content is opaque. Apps store it by archiving it with `NSKeyedArchiver`.
open class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: all members are constants.

    /// The token in CloudKit Web Services' form.
    package let syncToken: String

    /// A token that the service issued.
    private init(_ text: String) { syncToken = text }

    package convenience init(syncToken: String) { self.init(syncToken) }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        // A foreign archive results in a token that no zone knows, so it counts as expired. Such archives contain bytes
        // of Apple's that are not text, or no bytes. Apple's framework decodes an archive without bytes into a token
        // too.
        let archived = coder.object(of: NSData.self, forKey: ArchiveKey.changeTokenData).map { $0 as Data }
        syncToken = archived.map { String(data: $0, encoding: .utf8) ?? $0.base64EncodedString() } ?? "none"
    }

    open func encode(with coder: NSCoder) {
        coder.encode(Data(syncToken.utf8) as NSData, forKey: ArchiveKey.changeTokenData)
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.changeToken.archiverClass(for: self) }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.syncToken == syncToken
    }

    open override var hash: Int { syncToken.hashValue }

    open override var description: String { "<CKServerChangeToken: \(address(of: self)); data=\(syncToken)>" }

    open override var debugDescription: String { description }
}
