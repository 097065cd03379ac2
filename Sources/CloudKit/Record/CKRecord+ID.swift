// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The record name of the share that shares a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

extension CKRecord {
    /// A record's identifier in a database: the record's name and zone. IDs with equal names and equal zones are equal.
    public final class ID: NSObject, NSSecureCoding, NSCopying, Sendable {
        /// The record's name, unique in its zone: 1 to 255 printable ASCII characters without a leading underscore.
        public let recordName: String
        /// The ID of the record's zone, in which the name is unique.
        public let zoneID: CKRecordZone.ID

        /// Creates the ID of a record in the default zone. The name has 1 to 255 ASCII characters and no leading
        /// underscore.
        ///
        /// An empty name stops the program. A record whose name breaks another rule cannot be saved.
        public convenience init(recordName: String) {
            self.init(recordName: recordName, zoneID: .default)
        }

        /// Creates the ID of a record in a zone. The name has 1 to 255 ASCII characters and no leading underscore.
        ///
        /// Only the names that the service gives to users have a leading underscore. An empty name stops the program. A
        /// record whose name breaks another rule cannot be saved.
        public convenience init(
            recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = CKRecordZone.ID.default
        ) {
            NameRules.checkRecordName(recordName)
            self.init(unchecked: recordName, zoneID: zoneID)
        }

        /// Creates an ID without checks of the name, which is from the service's answer or an archive.
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
