public import Foundation

extension CKUserIdentity {
    /// An identifier by which a user can be looked up: an e-mail address, a phone number or the ID of a user record.
    open class LookupInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: all properties are constants.

        private let email: String?
        private let phone: String?
        private let recordID: CKRecord.ID?

        /// The e-mail address to look up; nil for another kind of identifier.
        open var emailAddress: String? { email }
        /// The telephone number to look up; nil for another kind of identifier.
        open var phoneNumber: String? { phone }
        /// The ID of the user record to look up; nil for another kind of identifier.
        open var userRecordID: CKRecord.ID? { recordID }

        /// Creates a lookup by e-mail address.
        public init(emailAddress: String) {
            email = emailAddress
            phone = nil
            recordID = nil
        }

        /// Creates a lookup by telephone number.
        public init(phoneNumber: String) {
            email = nil
            phone = phoneNumber
            recordID = nil
        }

        /// Creates a lookup by the ID of the user's record.
        public init(userRecordID: CKRecord.ID) {
            email = nil
            phone = nil
            recordID = userRecordID
        }

        /// Creates one lookup for each e-mail address.
        open class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
            emails.map { CKUserIdentity.LookupInfo(emailAddress: $0) }
        }

        /// Creates one lookup for each telephone number.
        open class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
            phoneNumbers.map { CKUserIdentity.LookupInfo(phoneNumber: $0) }
        }

        /// Creates one lookup for each user record.
        open class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
            recordIDs.map { CKUserIdentity.LookupInfo(userRecordID: $0) }
        }

        /// The identifier as text.
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

/// The former name of `CKUserIdentity.LookupInfo`.
@available(*, deprecated, renamed: "CKUserIdentity.LookupInfo")
public typealias CKUserIdentityLookupInfo = CKUserIdentity.LookupInfo
