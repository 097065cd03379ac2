public import Foundation

extension CKUserIdentity {
    /// What to look a user up by: one of an e-mail address, a phone number and a user record's ID.
    open class LookupInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: everything in here is a constant.

        private let email: String?
        private let phone: String?
        private let recordID: CKRecord.ID?

        /// By which e-mail address the user is looked for; nil where it is by something else.
        open var emailAddress: String? { email }
        /// By which telephone number the user is looked for; nil where it is by something else.
        open var phoneNumber: String? { phone }
        /// By which user record the user is looked for; nil where it is by something else.
        open var userRecordID: CKRecord.ID? { recordID }

        /// Looks for the user with an e-mail address.
        public init(emailAddress: String) {
            email = emailAddress
            phone = nil
            recordID = nil
        }

        /// Looks for the user with a telephone number.
        public init(phoneNumber: String) {
            email = nil
            phone = phoneNumber
            recordID = nil
        }

        /// Looks for the user whose record has this ID.
        public init(userRecordID: CKRecord.ID) {
            email = nil
            phone = nil
            recordID = userRecordID
        }

        /// One to look for each of these e-mail addresses.
        open class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
            emails.map { CKUserIdentity.LookupInfo(emailAddress: $0) }
        }

        /// One to look for each of these telephone numbers.
        open class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
            phoneNumbers.map { CKUserIdentity.LookupInfo(phoneNumber: $0) }
        }

        /// One to look for the user of each of these records.
        open class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
            recordIDs.map { CKUserIdentity.LookupInfo(userRecordID: $0) }
        }

        /// What the user is looked up by, as text.
        var subject: String { emailAddress ?? phoneNumber ?? userRecordID?.recordName ?? "" }

        open class var supportsSecureCoding: Bool { true }

        public required init?(coder: NSCoder) {
            email = coder.string(forKey: ArchiveKey.emailAddress)
            phone = coder.string(forKey: ArchiveKey.phoneNumber)
            recordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.recordID)
        }

        open func encode(with coder: NSCoder) {
            coder.encode(emailAddress as NSString?, forKey: ArchiveKey.emailAddress)
            coder.encode(phoneNumber as NSString?, forKey: ArchiveKey.phoneNumber)
            coder.encode(userRecordID, forKey: ArchiveKey.recordID)
        }

        open override var classForKeyedArchiver: AnyClass? {
            ArchivedClass.userIdentityLookupInfo.archiverClass(for: self)
        }

        open func copy(with zone: NSZone? = nil) -> Any { self }

        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKUserIdentity.LookupInfo else { return false }
            return emailAddress == other.emailAddress && phoneNumber == other.phoneNumber
                && userRecordID == other.userRecordID
        }

        open override var hash: Int {
            var hasher = Hasher()
            hasher.combine(emailAddress)
            hasher.combine(phoneNumber)
            hasher.combine(userRecordID)
            return hasher.finalize()
        }

        open override var description: String {
            "<CKUserIdentityLookupInfo: \(address(of: self)); \(subject)>"
        }

        open override var debugDescription: String { description }
    }
}

/// The old name of `CKUserIdentity.LookupInfo`.
@available(*, deprecated, renamed: "CKUserIdentity.LookupInfo")
public typealias CKUserIdentityLookupInfo = CKUserIdentity.LookupInfo
