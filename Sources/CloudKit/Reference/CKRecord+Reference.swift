public import Foundation

extension CKRecord {
    /// The effect of a record's deletion on the records that refer to it.
    public enum ReferenceAction: UInt, Sendable, BitwiseCopyable {
        /// The deletion has no effect: the reference keeps the ID of the deleted record.
        case none = 0
        /// The deletion cascades to the records that hold the reference.
        case deleteSelf = 1
    }

    /// A reference from a record's field to another record of the same zone.
    public final class Reference: NSObject, NSSecureCoding, NSCopying, Sendable {
        /// The effect of the target's deletion on the record that holds the reference.
        public typealias Action = CKRecord.ReferenceAction

        /// The ID of the record to which the reference refers, its target.
        public let recordID: CKRecord.ID
        /// The effect of the target's deletion on the record that holds the reference.
        public let action: CKRecord.ReferenceAction

        /// Creates a reference to the record with the given ID. The record need not be fetched.
        public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
            self.recordID = recordID
            self.action = action
        }

        /// Creates a reference to the given record.
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
