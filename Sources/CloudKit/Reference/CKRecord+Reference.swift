public import Foundation

extension CKRecord {
    /// What the deletion of a record does to the records that refer to it.
    public enum ReferenceAction: UInt, Sendable, BitwiseCopyable {
        /// Nothing: the reference keeps the ID of the record that is gone.
        case none = 0
        /// The records that hold the reference are deleted as well.
        case deleteSelf = 1
    }

    /// A link from a record's field to another record of the same zone.
    public final class Reference: NSObject, NSSecureCoding, NSCopying, Sendable {
        /// What happens to the record with the reference when its target is deleted.
        public typealias Action = CKRecord.ReferenceAction

        /// The record that the reference points at.
        public let recordID: CKRecord.ID
        /// What the deletion of that record does to the record which holds the reference.
        public let action: CKRecord.ReferenceAction

        /// A reference to a record by its ID, which need not be fetched for it.
        public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
            self.recordID = recordID
            self.action = action
        }

        /// A reference to a record that is at hand.
        public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
            self.init(recordID: record.recordID, action: action)
        }

        public static var supportsSecureCoding: Bool { true }

        public init?(coder: NSCoder) {
            guard let recordID = coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.recordID)
            else { return nil }
            self.recordID = recordID
            let action = UInt(truncatingIfNeeded: coder.decodeInt64(forKey: ArchiveKey.referenceAction))
            self.action = ReferenceAction(rawValue: action) ?? .none
        }

        public func encode(with coder: NSCoder) {
            coder.encode(recordID, forKey: ArchiveKey.recordID)
            coder.encode(Int64(action.rawValue), forKey: ArchiveKey.referenceAction)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.reference.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKRecord.Reference else { return false }
            return self === other || (recordID == other.recordID && action == other.action)
        }

        public override var hash: Int { recordID.hash }

        public override var description: String {
            "<CKReference: \(address(of: self)); recordID=\(recordID.recordName):(\(recordID.zoneID.zoneName):"
                + "\(recordID.zoneID.ownerName)), action=\(action)>"
        }

        public override var debugDescription: String { description }
    }
}
