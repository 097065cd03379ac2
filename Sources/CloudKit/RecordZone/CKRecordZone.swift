public import Foundation
import Synchronization

/// A partition of a database: the unit of atomic saves, change tracking and zone-wide sharing.
open class CKRecordZone: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// The capabilities of a zone; empty until the zone was saved or fetched.
    public struct Capabilities: OptionSet, Sendable, BitwiseCopyable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The zone has a change feed: clients can fetch the changes after a change token.
        public static let fetchChanges = Capabilities(rawValue: 1 << 0)
        /// A batch of changes to the zone can be atomic: all or nothing.
        public static let atomic = Capabilities(rawValue: 1 << 1)
        /// Hierarchies of records in the zone can be shared.
        public static let sharing = Capabilities(rawValue: 1 << 2)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 1 << 3)
    }

    /// The scope of the keys that encrypt a zone's records: one key per record, or one key for the whole zone.
    public enum EncryptionScope: Int, Sendable, BitwiseCopyable {
        /// Each record has keys of its own for its encrypted values.
        case perRecord = 0
        /// One key encrypts the values of all records in the zone.
        case perZone = 1
    }

    struct State: Sendable {
        var capabilities: Capabilities = []
        var share: CKRecord.Reference?
        var encryptionScope = EncryptionScope.perRecord
        /// The position in the zone's change feed when the zone was fetched; nil if the zone was not fetched.
        var syncToken: String?
    }

    /// The zone's identifier: its name and its owner.
    open var zoneID: CKRecordZone.ID { givenID }
    private let givenID: CKRecordZone.ID
    // The lock guards all mutable state, so `@unchecked Sendable` is safe. An open class requires `@unchecked`.
    let state: Mutex<State>

    /// Returns the default zone, which exists in every database without being saved.
    open class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

    /// Creates a zone of the current user. The zone exists only on this device until it is saved.
    public init(zoneName: String) {
        givenID = CKRecordZone.ID(zoneName: zoneName)
        state = Mutex(State())
    }

    /// Creates a zone with an ID. The zone exists only on this device until it is saved.
    public init(zoneID: CKRecordZone.ID) {
        givenID = zoneID
        state = Mutex(State())
    }

    init(zoneID: CKRecordZone.ID, state: State) {
        givenID = zoneID
        self.state = Mutex(state)
    }

    /// The zone's capabilities, as reported by the service; empty until the zone was saved or fetched.
    open var capabilities: Capabilities { state.withLock { $0.capabilities } }

    /// The share of the whole zone; nil if there is none, or if the zone was not fetched.
    open var share: CKRecord.Reference? { state.withLock { $0.share } }

    /// The scope of the zone's encryption keys: one key per record, or one key for the zone. The scope can be set until
    /// the first save.
    open var encryptionScope: EncryptionScope {
        get { state.withLock { $0.encryptionScope } }
        set { state.withLock { $0.encryptionScope = newValue } }
    }

    open class var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard let zoneID = coder.object(of: CKRecordZone.ID.self, forKey: ArchiveKey.zoneID) else { return nil }
        givenID = zoneID
        state = Mutex(
            State(
                capabilities: Capabilities(
                    rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: ArchiveKey.capabilities))),
                share: coder.object(of: CKRecord.Reference.self, forKey: ArchiveKey.shareReference),
                encryptionScope: EncryptionScope(rawValue: coder.decodeInteger(forKey: ArchiveKey.encryptionScope))
                    ?? .perRecord))
    }

    open func encode(with coder: NSCoder) {
        let state = self.state.withLock { $0 }
        coder.encode(zoneID, forKey: ArchiveKey.zoneID)
        coder.encode(Int64(state.capabilities.rawValue), forKey: ArchiveKey.capabilities)
        coder.encode(state.encryptionScope.rawValue, forKey: ArchiveKey.encryptionScope)
        if let share = state.share { coder.encode(share, forKey: ArchiveKey.shareReference) }
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.zone.archiverClass }

    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZone(zoneID: zoneID, state: state.withLock { $0 })
    }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZone)?.zoneID == zoneID
    }

    open override var hash: Int { zoneID.hash }

    open override var description: String {
        "<CKRecordZone: \(address(of: self)); zoneID=\(zoneID.zoneName):\(zoneID.ownerName)>"
    }

    open override var debugDescription: String { description }
}
