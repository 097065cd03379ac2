// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The record name that stands for the current user, as a zone's owner and as a user's record name.
public let CKCurrentUserDefaultName = "__defaultOwner__"

extension CKRecordZone {
    /// Identifies a zone: its name, and the user who owns it. Two IDs with the same names are equal.
    public final class ID: NSObject, NSSecureCoding, NSCopying, Sendable {
        /// The zone that every database has, which need not be saved.
        public static let `default` = CKRecordZone.ID(unchecked: defaultZoneName, ownerName: CKCurrentUserDefaultName)
        /// What the zone is called that every database has: `_defaultZone`.
        public static let defaultZoneName = "_defaultZone"

        /// What the zone is called: 1 to 255 printable ASCII characters, no leading underscore but the default zone's.
        public let zoneName: String
        /// The record name of the user who owns the zone; `CKCurrentUserDefaultName` for the current user.
        public let ownerName: String

        /// Names a zone. The name is 1 to 255 ASCII characters and starts with no underscore.
        ///
        /// An empty name stops the program. A zone whose name breaks another of the rules cannot be saved.
        public convenience init(
            zoneName: String = CKRecordZone.ID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
        ) {
            NameRules.checkZoneName(zoneName)
            self.init(unchecked: zoneName, ownerName: ownerName)
        }

        /// Names a zone, whose owner may be nil: the current user.
        @_disfavoredOverload
        @available(*, deprecated, message: "Use init(zoneName:ownerName:) with an owner name that is not nil")
        public convenience init(zoneName: String = CKRecordZone.ID.defaultZoneName, ownerName: String?) {
            self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
        }

        /// For names that the service or an archive gave.
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
