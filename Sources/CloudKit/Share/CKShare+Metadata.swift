public import Foundation
import NephosWire

extension CKShare {
    /// What is known of a share before it is accepted (CKShare.Metadata, Apple's documentation). Apps get it from the
    /// service, by the share's URL; they do not make it.
    open class Metadata: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: everything in here is a constant.

        private struct Values {
            var containerIdentifier = ""
            var share: CKShare?
            var hierarchicalRootRecordID: CKRecord.ID?
            var participantRole = CKShare.ParticipantRole.unknown
            var participantStatus = CKShare.ParticipantAcceptanceStatus.unknown
            var participantPermission = CKShare.ParticipantPermission.unknown
            var ownerIdentity = CKUserIdentity(hasiCloudAccount: false)
            var rootRecord: CKRecord?
            /// By what the service knows the share: what the URL ends in that the metadata was fetched by. That of a
            /// one-time URL is another than the share's.
            var shortGUID: String?
        }

        private let values: Values

        /// Metadata of no share, for the subclass that a test puts in the place of the service's.
        public override init() { values = Values() }

        /// Metadata as the service has it.
        init(wire: RecordInfo, _ users: WireUsers) throws(WireError) {
            let zoneID = CKRecordZone.ID(wire: wire.zoneID, currentUserRecordName: users.currentUserRecordName)
            func record(_ wire: RecordDictionary) throws(WireError) -> CKRecord {
                CKRecord.record(
                    wire: wire, recordID: CKRecord.ID(unchecked: wire.recordName, zoneID: zoneID),
                    fields: try wire.fields.decoded(), users)
            }
            var values = Values()
            values.containerIdentifier = wire.containerIdentifier
            values.share = try record(wire.share) as? CKShare
            values.hierarchicalRootRecordID = wire.rootRecordName.map { CKRecord.ID(unchecked: $0, zoneID: zoneID) }
            values.participantRole = CKShare.ParticipantRole(wire.participantRole)
            values.participantStatus = CKShare.ParticipantAcceptanceStatus(wire.participantStatus)
            values.participantPermission = CKShare.ParticipantPermission(wire.participantPermission)
            values.ownerIdentity = CKUserIdentity(wire: wire.ownerIdentity, users)
            if let root = wire.rootRecord {
                let root = try record(root)
                // No participant has the keys of its encrypted values before acceptance, and no record comes without
                // its values.
                if !root.hasEncryptedFields { values.rootRecord = root }
            }
            values.shortGUID = wire.shortGUID.value
            self.values = values
        }

        /// By what the service knows the share; nil for metadata that is not the service's.
        var shortGUID: String? { values.shortGUID ?? values.share?.url.flatMap(CKShare.shortGUID) }

        /// The container that holds the share.
        open var containerIdentifier: String { values.containerIdentifier }

        /// The share. The program stops where the metadata is of none: it came neither from the service nor from an
        /// archive of what did.
        open var share: CKShare {
            guard let share = values.share else {
                raise("CKShare.Metadata: this is metadata of no share.")
            }
            return share
        }

        /// The record at the top of what is shared; nil where a whole zone is.
        open var hierarchicalRootRecordID: CKRecord.ID? { values.hierarchicalRootRecordID }
        /// What the current user is.
        open var participantRole: CKShare.ParticipantRole { values.participantRole }
        /// What the current user has answered.
        open var participantStatus: CKShare.ParticipantAcceptanceStatus { values.participantStatus }
        /// What the current user may do.
        open var participantPermission: CKShare.ParticipantPermission { values.participantPermission }
        /// Whose share it is.
        open var ownerIdentity: CKUserIdentity { values.ownerIdentity }
        /// The root record, where it was asked for; nil where it has encrypted values.
        open var rootRecord: CKRecord? { values.rootRecord }

        @available(*, deprecated, renamed: "participantRole")
        open var participantType: CKShare.ParticipantType {
            CKShare.ParticipantType(rawValue: participantRole.rawValue) ?? .privateUser
        }

        /// The root record's ID. Of a share of a whole zone, which has no root, it is the share's own.
        @available(*, deprecated, renamed: "hierarchicalRootRecordID")
        open var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

        open class var supportsSecureCoding: Bool { true }

        /// Restores what the archive has: Apple's framework makes metadata of an archive without any of it, too.
        public required init?(coder: NSCoder) {
            var values = Values()
            let container = coder.object(
                ofAny: [ArchivedContainerID.self, NSString.self], forKey: ArchiveKey.containerID)
            // Archives of earlier versions of this library have the identifier alone.
            values.containerIdentifier =
                (container as? ArchivedContainerID)?.identifier ?? (container as? NSString) as String? ?? ""
            values.share = coder.object(of: CKShare.self, forKey: ArchiveKey.share)
            values.hierarchicalRootRecordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.rootRecordID)
            values.participantRole = coder.value(forKey: ArchiveKey.metadataRole) ?? .unknown
            values.participantStatus = coder.value(forKey: ArchiveKey.metadataStatus) ?? .unknown
            values.participantPermission = coder.value(forKey: ArchiveKey.metadataPermission) ?? .unknown
            values.rootRecord = coder.object(of: CKRecord.self, forKey: ArchiveKey.rootRecord)
            values.shortGUID = coder.string(forKey: ArchiveKey.oneTimeGUID)
            if let owner = coder.object(of: CKUserIdentity.self, forKey: ArchiveKey.ownerIdentity) {
                values.ownerIdentity = owner
            }
            self.values = values
        }

        open func encode(with coder: NSCoder) {
            coder.encode(ArchivedContainerID(containerIdentifier), forKey: ArchiveKey.containerID)
            if let share = values.share { coder.encode(share, forKey: ArchiveKey.share) }
            coder.encode(ownerIdentity, forKey: ArchiveKey.ownerIdentity)
            coder.encode(hierarchicalRootRecordID, forKey: ArchiveKey.rootRecordID)
            coder.encode(participantRole.rawValue, forKey: ArchiveKey.metadataRole)
            coder.encode(participantStatus.rawValue, forKey: ArchiveKey.metadataStatus)
            coder.encode(participantPermission.rawValue, forKey: ArchiveKey.metadataPermission)
            coder.encode(rootRecord, forKey: ArchiveKey.rootRecord)
            // The share's own URL is in the share.
            if let guid = values.shortGUID, guid != values.share?.url.flatMap(CKShare.shortGUID) {
                coder.encode(guid as NSString, forKey: ArchiveKey.oneTimeGUID)
            }
        }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.shareMetadata.archiverClass(for: self) }

        open func copy(with zone: NSZone? = nil) -> Any { self }

        /// Metadata is equal that is about one share of one container.
        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKShare.Metadata else { return false }
            return self === other
                || (containerIdentifier == other.containerIdentifier
                    && values.share?.recordID == other.values.share?.recordID)
        }

        open override var hash: Int { values.share?.recordID.hash ?? 0 }

        open override var description: String {
            "<CKShareMetadata: \(address(of: self)); containerID=\(containerIdentifier), share=\(values.share?.recordID.recordName ?? "nil"), "
                + "participantRole=\(participantRole), participantStatus=\(participantStatus)>"
        }

        open override var debugDescription: String { description }
    }
}
