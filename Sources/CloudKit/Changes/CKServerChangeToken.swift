public import Foundation

/// A position in the changes of a database or of a zone, to continue from later (CKServerChangeToken, Apple's
/// documentation). What is in it is the service's business; archive it with `NSKeyedArchiver` to keep it.
public final class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The token as CloudKit Web Services has it.
    package let syncToken: String

    /// For tokens that the service gave.
    package init(syncToken: String) { self.syncToken = syncToken }

    @available(*, unavailable, message: "tokens come from the service")
    public override init() { preconditionFailure("CKServerChangeToken has no init(): tokens come from the service.") }

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let archived = coder.object(of: NSData.self, forKey: ArchiveKey.changeTokenData) else { return nil }
        // An archive of Apple's holds bytes that are no text. They make a token that no zone knows: it has expired.
        let data = archived as Data
        syncToken = String(data: data, encoding: .utf8) ?? data.base64EncodedString()
    }

    public func encode(with coder: NSCoder) {
        coder.encode(Data(syncToken.utf8) as NSData, forKey: ArchiveKey.changeTokenData)
    }

    public override var classForKeyedArchiver: AnyClass? { ArchivedClass.changeToken.archiverClass }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.syncToken == syncToken
    }

    public override var hash: Int { syncToken.hashValue }

    public override var description: String { "<CKServerChangeToken: \(address(of: self)); data=\(syncToken)>" }

    public override var debugDescription: String { description }
}
