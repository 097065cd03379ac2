public import Foundation

extension CKUserIdentity {
    /// What to look a user up by: one of an e-mail address, a phone number and a user record's ID.
    public final class LookupInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
        public let emailAddress: String?
        public let phoneNumber: String?
        public let userRecordID: CKRecord.ID?

        public init(emailAddress: String) {
            self.emailAddress = emailAddress
            phoneNumber = nil
            userRecordID = nil
        }

        public init(phoneNumber: String) {
            emailAddress = nil
            self.phoneNumber = phoneNumber
            userRecordID = nil
        }

        public init(userRecordID: CKRecord.ID) {
            emailAddress = nil
            phoneNumber = nil
            self.userRecordID = userRecordID
        }

        public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
            emails.map { CKUserIdentity.LookupInfo(emailAddress: $0) }
        }

        public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
            phoneNumbers.map { CKUserIdentity.LookupInfo(phoneNumber: $0) }
        }

        public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
            recordIDs.map { CKUserIdentity.LookupInfo(userRecordID: $0) }
        }

        /// What the user is looked up by, as text.
        var subject: String { emailAddress ?? phoneNumber ?? userRecordID?.recordName ?? "" }

        public static var supportsSecureCoding: Bool { true }

        public init?(coder: NSCoder) {
            emailAddress = coder.string(forKey: ArchiveKey.emailAddress)
            phoneNumber = coder.string(forKey: ArchiveKey.phoneNumber)
            userRecordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.recordID)
        }

        public func encode(with coder: NSCoder) {
            coder.encode(emailAddress as NSString?, forKey: ArchiveKey.emailAddress)
            coder.encode(phoneNumber as NSString?, forKey: ArchiveKey.phoneNumber)
            coder.encode(userRecordID, forKey: ArchiveKey.recordID)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.userIdentityLookupInfo.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKUserIdentity.LookupInfo else { return false }
            return emailAddress == other.emailAddress && phoneNumber == other.phoneNumber
                && userRecordID == other.userRecordID
        }

        public override var hash: Int {
            var hasher = Hasher()
            hasher.combine(emailAddress)
            hasher.combine(phoneNumber)
            hasher.combine(userRecordID)
            return hasher.finalize()
        }

        public override var description: String {
            "<CKUserIdentityLookupInfo: \(address(of: self)); \(subject)>"
        }

        public override var debugDescription: String { description }
    }
}

/// The old name of `CKUserIdentity.LookupInfo`.
@available(*, deprecated, renamed: "CKUserIdentity.LookupInfo")
public typealias CKUserIdentityLookupInfo = CKUserIdentity.LookupInfo
