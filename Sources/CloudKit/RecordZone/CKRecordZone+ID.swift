// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The name that stands for the current user: as a zone's owner name, and as the record name of the user's record.
public let CKCurrentUserDefaultName = "__defaultOwner__"

extension CKRecordZone {
    /// A zone's identifier: its name and its owner. IDs with equal zone and owner names are equal.
    public final class ID: NSObject, NSSecureCoding, NSCopying, Sendable {
        /// The ID of the default zone, which exists in every database without being saved.
        public static let `default` = CKRecordZone.ID(unchecked: defaultZoneName, ownerName: CKCurrentUserDefaultName)
        /// The name of the default zone, which exists in every database: `_defaultZone`.
        public static let defaultZoneName = "_defaultZone"

        /// The zone's name: 1 to 255 printable ASCII characters. Only the name of the default zone has a leading
        /// underscore.
        public let zoneName: String
        /// The record name of the user who owns the zone; `CKCurrentUserDefaultName` for the current user.
        public let ownerName: String

        /// Creates the ID of a zone. The name has 1 to 255 ASCII characters and no leading underscore.
        ///
        /// An empty name stops the program. A zone whose name breaks another rule cannot be saved.
        public convenience init(
            zoneName: String = CKRecordZone.ID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
        ) {
            NameRules.checkZoneName(zoneName)
            self.init(unchecked: zoneName, ownerName: ownerName)
        }

        /// Creates the ID of a zone. A nil owner means the current user.
        @_disfavoredOverload
        @available(*, deprecated, message: "Use init(zoneName:ownerName:) with an owner name that is not nil")
        public convenience init(zoneName: String = CKRecordZone.ID.defaultZoneName, ownerName: String?) {
            self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
        }

        /// Creates an ID without checks of the names, which are from the service's answer or an archive.
        package init(unchecked zoneName: String, ownerName: String) {
            self.zoneName = zoneName
            self.ownerName = ownerName
        }

        public static var supportsSecureCoding: Bool { true }

        public init?(coder: NSCoder) {
            guard let zoneName = coder.string(forKey: ArchiveKey.zoneName), !zoneName.isEmpty else { return nil }
            self.zoneName = zoneName
            ownerName = coder.string(forKey: ArchiveKey.ownerName) ?? CKCurrentUserDefaultName
        }

        public func encode(with coder: NSCoder) {
            coder.encode(NSString(string: zoneName), forKey: ArchiveKey.zoneName)
            coder.encode(NSString(string: ownerName), forKey: ArchiveKey.ownerName)
        }

        public override var classForKeyedArchiver: AnyClass? { ArchivedClass.zoneID.archiverClass }

        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CKRecordZone.ID else { return false }
            return self === other || (zoneName == other.zoneName && ownerName == other.ownerName)
        }

        public override var hash: Int {
            var hasher = Hasher()
            hasher.combine(zoneName)
            hasher.combine(ownerName)
            return hasher.finalize()
        }

        public override var description: String {
            "<CKRecordZoneID: \(address(of: self)); zoneName=\(zoneName), ownerName=\(ownerName)>"
        }

        public override var debugDescription: String { description }
    }
}
