public import Foundation

/// A position in the changes of a database or of a zone, to continue from later (CKServerChangeToken, Apple's
/// documentation). What is in it is the service's business; archive it with `NSKeyedArchiver` to keep it.
open class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: everything in here is a constant.

    /// The token as CloudKit Web Services has it.
    package let syncToken: String

    /// For tokens that the service gave.
    private init(_ text: String) { syncToken = text }

    package convenience init(syncToken: String) { self.init(syncToken) }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        // What is no token of ours makes one that no zone knows, and so has expired: bytes of Apple's that are no text, and
        // an archive without any, of which Apple's framework makes a token too.
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
