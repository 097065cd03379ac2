public import Foundation
import NephosWire

extension CKShare {
    /// The properties of a share that are known before its acceptance (CKShare.Metadata, Apple's documentation). The
    /// service returns them for the share's URL; apps do not create them.
    open class Metadata: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: every property is a constant.

        private struct Values {
            var containerIdentifier = ""
            var share: CKShare?
            var hierarchicalRootRecordID: CKRecord.ID?
            var participantRole = CKShare.ParticipantRole.unknown
            var participantStatus = CKShare.ParticipantAcceptanceStatus.unknown
            var participantPermission = CKShare.ParticipantPermission.unknown
            var ownerIdentity = CKUserIdentity(hasiCloudAccount: false)
            var rootRecord: CKRecord?
            /// The service's key for the share: the last component of the URL by which the metadata was fetched. A
            /// one-time URL has a key that differs from the share's. Nil for metadata that did not come from the
            /// service.
            var shortGUID: String?
        }

        private let values: Values

        /// Creates metadata without a share, for a test's subclass that replaces the service's metadata.
        public override init() { values = Values() }

        /// Creates metadata from the service's answer.
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
                // Before acceptance, no participant has the keys for encrypted values. A root record without these
                // values would be incomplete, so it is omitted, also after acceptance.
                if !root.hasEncryptedFields { values.rootRecord = root }
            }
            values.shortGUID = wire.shortGUID.value
            self.values = values
        }

        /// The service's key for the share; nil for metadata that did not come from the service.
        var shortGUID: String? { values.shortGUID ?? values.share?.url.flatMap(CKShare.shortGUID) }

        /// The container that holds the share.
        open var containerIdentifier: String { values.containerIdentifier }

        /// The share. The program stops if there is none, because the metadata then came neither from the service nor
        /// from an archive of such metadata.
        open var share: CKShare {
            guard let share = values.share else {
                raise("CKShare.Metadata: this is metadata of no share.")
            }
            return share
        }

        /// The ID of the shared hierarchy's root record; nil if a whole zone is shared.
        open var hierarchicalRootRecordID: CKRecord.ID? { values.hierarchicalRootRecordID }
        /// The role of the current user.
        open var participantRole: CKShare.ParticipantRole { values.participantRole }
        /// The current user's answer to the invitation.
        open var participantStatus: CKShare.ParticipantAcceptanceStatus { values.participantStatus }
        /// The current user's permission on the shared records.
        open var participantPermission: CKShare.ParticipantPermission { values.participantPermission }
        /// The identity of the share's owner.
        open var ownerIdentity: CKUserIdentity { values.ownerIdentity }
        /// The root record; nil if it was not requested, or if it has encrypted values.
        open var rootRecord: CKRecord? { values.rootRecord }

        @available(*, deprecated, renamed: "participantRole")
        open var participantType: CKShare.ParticipantType {
            CKShare.ParticipantType(rawValue: participantRole.rawValue) ?? .privateUser
        }

        /// The ID of the root record. A share of a whole zone has no root record, so the value is then the ID of the
        /// share.
        @available(*, deprecated, renamed: "hierarchicalRootRecordID")
        open var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

        open class var supportsSecureCoding: Bool { true }

        /// Restores metadata from an archive. Missing values get defaults, because Apple's framework also accepts an
        /// archive without any values.
        public required init?(coder: NSCoder) {
            var values = Values()
            let container = coder.object(
                ofAny: [ArchivedContainerID.self, NSString.self], forKey: ArchiveKey.containerID)
            // Archives of earlier versions of this library have only the identifier.
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
            // The archived share contains its own URL, so only another key is stored.
            if let guid = values.shortGUID, guid != values.share?.url.flatMap(CKShare.shortGUID) {
                coder.encode(guid as NSString, forKey: ArchiveKey.oneTimeGUID)
            }
        }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.shareMetadata.archiverClass(for: self) }

        open func copy(with zone: NSZone? = nil) -> Any { self }

        /// Whether both metadata describe the same share of the same container.
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
