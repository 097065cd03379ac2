// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The record name of the share that shares a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

extension CKRecord {
    /// Identifies a record in a database: its name, and the zone that holds it. IDs with equal names are equal.
    public final class ID: NSObject, NSSecureCoding, NSCopying, Sendable {
        /// What the record is called: unique in its zone, 1 to 255 printable ASCII characters, no leading underscore.
        public let recordName: String
        /// The zone in which the name is unique.
        public let zoneID: CKRecordZone.ID

        /// Names a record of the default zone: 1 to 255 ASCII characters that start with no underscore.
        ///
        /// An empty name stops the program. A record whose name breaks another of the rules cannot be saved.
        public convenience init(recordName: String) {
            self.init(recordName: recordName, zoneID: .default)
        }

        /// Names a record of a zone: 1 to 255 ASCII characters that start with no underscore.
        ///
        /// The names that the service gives to users do start with one. An empty name stops the program. A record whose
        /// name breaks another of the rules cannot be saved.
        public convenience init(
            recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = CKRecordZone.ID.default
        ) {
            NameRules.checkRecordName(recordName)
            self.init(unchecked: recordName, zoneID: zoneID)
        }

        /// For names that the service or an archive gave.
        package init(unchecked recordName: String, zoneID: CKRecordZone.ID = .default) {
            self.recordName = recordName
            self.zoneID = zoneID
        }

        public static var supportsSecureCoding: Bool { true }

        public init?(coder: NSCoder) {
            guard let recordName = coder.string(forKey: ArchiveKey.recordName), !recordName.isEmpty,
                let zoneID = coder.object(of: CKRecordZone.ID.self, forKey: ArchiveKey.zoneID)
            else { return nil }
            self.recordName = recordName
            self.zoneID = zoneID
        }

        public func encode(with coder: NSCoder) {
            coder.encode(NSString(string: recordName), forKey: ArchiveKey.recordName)
            coder.encode(zoneID, forKey: ArchiveKey.zoneID)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.recordID.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKRecord.ID else { return false }
            return self === other || (recordName == other.recordName && zoneID == other.zoneID)
        }

        public override var hash: Int {
            var hasher = Hasher()
            hasher.combine(recordName)
            hasher.combine(zoneID.zoneName)
            hasher.combine(zoneID.ownerName)
            return hasher.finalize()
        }

        public override var description: String {
            "<CKRecordID: \(address(of: self)); recordName=\(recordName), "
                + "zoneID=\(zoneID.zoneName):\(zoneID.ownerName)>"
        }

        public override var debugDescription: String { description }
    }
}
