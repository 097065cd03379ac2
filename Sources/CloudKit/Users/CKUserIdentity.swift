public import Foundation

/// A user as others see them (CKUserIdentity, Apple's documentation). Apps get identities; they do not make them.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The user's record; nil where the service knows no such user.
    public let userRecordID: CKRecord.ID?
    /// What the user was looked up by.
    public let lookupInfo: CKUserIdentity.LookupInfo?
    /// The user's name, as far as they tell it.
    public let nameComponents: PersonNameComponents?
    /// Whether the user has an account.
    public let hasiCloudAccount: Bool
    /// The user's entries in the device's contacts, which this platform does not have.
    @available(*, deprecated, message: "CloudKit no longer looks at contacts")
    public var contactIdentifiers: [String] { [] }

    init(
        userRecordID: CKRecord.ID? = nil, lookupInfo: CKUserIdentity.LookupInfo? = nil,
        nameComponents: PersonNameComponents? = nil, hasiCloudAccount: Bool
    ) {
        self.userRecordID = userRecordID
        self.lookupInfo = lookupInfo
        self.nameComponents = nameComponents
        self.hasiCloudAccount = hasiCloudAccount
    }

    /// Whom records and shares call the current user.
    static var currentUser: CKUserIdentity {
        CKUserIdentity(userRecordID: CKRecord.ID(unchecked: CKCurrentUserDefaultName), hasiCloudAccount: true)
    }

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        userRecordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.userRecordID)
        lookupInfo = coder.object(of: CKUserIdentity.LookupInfo.self, forKey: ArchiveKey.lookupInfo)
        nameComponents = coder.object(of: NSPersonNameComponents.self, forKey: ArchiveKey.nameComponents)
            .map { $0 as PersonNameComponents }
        hasiCloudAccount = coder.decodeBool(forKey: ArchiveKey.hasAccount)
    }

    public func encode(with coder: NSCoder) {
        coder.encode(userRecordID, forKey: ArchiveKey.userRecordID)
        coder.encode(lookupInfo, forKey: ArchiveKey.lookupInfo)
        coder.encode(nameComponents.map { $0 as NSPersonNameComponents }, forKey: ArchiveKey.nameComponents)
        coder.encode(hasiCloudAccount, forKey: ArchiveKey.hasAccount)
    }

    public override var classForKeyedArchiver: AnyClass? { ArchivedClass.userIdentity.archiverClass }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Identities are equal that are of one user, or that were looked up by the same where there is none.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentity else { return false }
        return self === other || (userRecordID == other.userRecordID && lookupInfo == other.lookupInfo)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(userRecordID)
        hasher.combine(lookupInfo)
        return hasher.finalize()
    }

    public override var description: String {
        let who = userRecordID?.recordName ?? lookupInfo?.subject ?? "unknown"
        return "<CKUserIdentity: \(address(of: self)); user=\(who), hasiCloudAccount=\(hasiCloudAccount)>"
    }

    public override var debugDescription: String { description }
}
