public import Foundation

/// A user as other users see the user (CKUserIdentity, Apple's documentation). Apps receive identities; they do not
/// create them.
open class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: all properties are constants.

    private let recordID: CKRecord.ID?
    private let info: CKUserIdentity.LookupInfo?
    private let name: PersonNameComponents?
    private let hasAccount: Bool

    init(
        userRecordID: CKRecord.ID? = nil, lookupInfo: CKUserIdentity.LookupInfo? = nil,
        nameComponents: PersonNameComponents? = nil, hasiCloudAccount: Bool
    ) {
        recordID = userRecordID
        info = lookupInfo
        name = nameComponents
        hasAccount = hasiCloudAccount
    }

    /// The ID of the user's record; nil if the service does not know the user.
    open var userRecordID: CKRecord.ID? { recordID }
    /// The identifier by which the user was looked up; nil if the user was not looked up.
    open var lookupInfo: CKUserIdentity.LookupInfo? { info }
    /// The parts of the user's name that the user reveals; nil if there are none.
    open var nameComponents: PersonNameComponents? { name }
    /// Whether the user has an account.
    open var hasiCloudAccount: Bool { hasAccount }
    /// The identifiers of the user's contacts on the device. Always empty, because this platform has no contacts.
    @available(*, deprecated, message: "CloudKit no longer looks at contacts")
    open var contactIdentifiers: [String] { [] }

    /// The identity of the current user in records and shares.
    static var currentUser: CKUserIdentity {
        CKUserIdentity(userRecordID: CKRecord.ID(unchecked: CKCurrentUserDefaultName), hasiCloudAccount: true)
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        recordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.userRecordID)
        info = coder.object(of: CKUserIdentity.LookupInfo.self, forKey: ArchiveKey.lookupInfo)
        name = coder.personName(forKey: ArchiveKey.nameComponents)
        hasAccount = coder.bool(forKey: ArchiveKey.hasAccount)
    }

    open func encode(with coder: NSCoder) {
        coder.encode(userRecordID, forKey: ArchiveKey.userRecordID)
        coder.encode(lookupInfo, forKey: ArchiveKey.lookupInfo)
        coder.encode(nameComponents, forKey: ArchiveKey.nameComponents)
        coder.encode(hasiCloudAccount, forKey: ArchiveKey.hasAccount)
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.userIdentity.archiverClass(for: self) }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// Whether both identities are of the same user: they have the same user record ID or the same lookup info, as for
    /// `CKShare.Participant`. Without either, an identity equals others without either.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentity else { return false }
        if self === other { return true }
        if isUnknown || other.isUnknown { return isUnknown && other.isUnknown }
        return userRecordID != nil && userRecordID == other.userRecordID
            || lookupInfo != nil && lookupInfo == other.lookupInfo
    }

    private var isUnknown: Bool { userRecordID == nil && lookupInfo == nil }

    // All identities have the same hash, because either of two properties makes two of them equal.
    open override var hash: Int { 0 }

    open override var description: String {
        let who = userRecordID?.recordName ?? lookupInfo?.subject ?? "unknown"
        return "<CKUserIdentity: \(address(of: self)); user=\(who), hasiCloudAccount=\(hasiCloudAccount)>"
    }

    open override var debugDescription: String { description }
}
