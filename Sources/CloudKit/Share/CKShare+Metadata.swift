public import Foundation

extension CKShare {
    /// What is known of a share before it is accepted (CKShare.Metadata, Apple's documentation). Apps get it from the
    /// service, by the share's URL; they do not make it.
    public final class Metadata: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: everything in here is a constant.

        /// The container that holds the share.
        public let containerIdentifier: String
        public let share: CKShare
        /// The record at the top of what is shared; nil where a whole zone is.
        public let hierarchicalRootRecordID: CKRecord.ID?
        /// What the current user is, may do and has answered.
        public let participantRole: CKShare.ParticipantRole
        public let participantStatus: CKShare.ParticipantAcceptanceStatus
        public let participantPermission: CKShare.ParticipantPermission
        public let ownerIdentity: CKUserIdentity
        /// The root record, where it was asked for.
        public let rootRecord: CKRecord?

        @available(*, deprecated, renamed: "participantRole")
        public var participantType: CKShare.ParticipantType {
            CKShare.ParticipantType(rawValue: participantRole.rawValue) ?? .privateUser
        }

        /// The root record's ID. Of a share of a whole zone, which has no root, it is the share's own.
        @available(*, deprecated, renamed: "hierarchicalRootRecordID")
        public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

        public static var supportsSecureCoding: Bool { true }

        public init?(coder: NSCoder) {
            guard let containerIdentifier = coder.string(forKey: ArchiveKey.containerID),
                let share = coder.object(of: CKShare.self, forKey: ArchiveKey.share),
                let ownerIdentity = coder.object(of: CKUserIdentity.self, forKey: ArchiveKey.ownerIdentity)
            else { return nil }
            func value<Value: RawRepresentable<Int>>(_ key: String, _ unknown: Value) -> Value {
                Value(rawValue: coder.decodeInteger(forKey: key)) ?? unknown
            }
            self.containerIdentifier = containerIdentifier
            self.share = share
            self.ownerIdentity = ownerIdentity
            hierarchicalRootRecordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.rootRecordID)
            participantRole = value(ArchiveKey.metadataRole, .unknown)
            participantStatus = value(ArchiveKey.metadataStatus, .unknown)
            participantPermission = value(ArchiveKey.metadataPermission, .unknown)
            rootRecord = coder.object(of: CKRecord.self, forKey: ArchiveKey.rootRecord)
        }

        public func encode(with coder: NSCoder) {
            coder.encode(containerIdentifier as NSString, forKey: ArchiveKey.containerID)
            coder.encode(share, forKey: ArchiveKey.share)
            coder.encode(ownerIdentity, forKey: ArchiveKey.ownerIdentity)
            coder.encode(hierarchicalRootRecordID, forKey: ArchiveKey.rootRecordID)
            coder.encode(participantRole.rawValue, forKey: ArchiveKey.metadataRole)
            coder.encode(participantStatus.rawValue, forKey: ArchiveKey.metadataStatus)
            coder.encode(participantPermission.rawValue, forKey: ArchiveKey.metadataPermission)
            coder.encode(rootRecord, forKey: ArchiveKey.rootRecord)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.shareMetadata.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        /// Metadata is equal that is about one share of one container.
        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKShare.Metadata else { return false }
            return containerIdentifier == other.containerIdentifier && share.recordID == other.share.recordID
        }

        public override var hash: Int { share.recordID.hash }

        public override var description: String {
            "<CKShareMetadata: \(address(of: self)); containerID=\(containerIdentifier), share=\(share.recordID), "
                + "participantRole=\(participantRole), participantStatus=\(participantStatus)>"
        }

        public override var debugDescription: String { description }
    }
}
