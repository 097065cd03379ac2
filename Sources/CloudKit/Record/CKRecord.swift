public import Foundation
import NephosWire
import Synchronization

/// An app's data as named fields with values, together with the service's metadata.
open class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting, Sequence, @unchecked Sendable {
    /// The name of a type of records, such as `Note`: a letter, then letters, digits and underscores.
    public typealias RecordType = String
    /// The name of a field: a letter, then letters, digits and underscores.
    public typealias FieldKey = String

    private let givenType: CKRecord.RecordType
    private let givenID: CKRecord.ID
    // The lock guards all mutable state, so `@unchecked Sendable` is safe. An open class requires `@unchecked`.
    let state: Mutex<RecordState>

    /// Creates a record without fields. By default, the record's name is a UUID and its zone is the default zone.
    public init(recordType: CKRecord.RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        NameRules.checkRecordType(recordType)
        givenType = recordType
        givenID = recordID
        state = Mutex(RecordState())
    }

    /// Creates a record without fields in a zone. The record's name is a UUID.
    @available(*, deprecated, message: "Use init(recordType:recordID:)")
    public init(recordType: CKRecord.RecordType, zoneID: CKRecordZone.ID) {
        NameRules.checkRecordType(recordType)
        givenType = recordType
        givenID = CKRecord.ID(zoneID: zoneID)
        state = Mutex(RecordState())
    }

    /// Creates a record without fields. The initializer has the name that Apple's interface imports from Objective-C.
    public convenience init(__recordType recordType: CKRecord.RecordType, recordID: CKRecord.ID) {
        self.init(recordType: recordType, recordID: recordID)
    }

    init(recordType: CKRecord.RecordType, recordID: CKRecord.ID, state: RecordState) {
        givenType = recordType
        givenID = recordID
        self.state = Mutex(consume state)
    }

    // MARK: Metadata

    // These properties are open, as in Apple's interface: apps' tests override the dates and IDs that only the service
    // sets.

    /// The record's type, a name that the app chooses.
    open var recordType: CKRecord.RecordType { givenType }
    /// The record's identifier, which never changes.
    open var recordID: CKRecord.ID { givenID }
    /// A value that changes with every save; nil until the record was saved or fetched.
    open var recordChangeTag: String? { state.withLock { $0.metadata.changeTag } }
    /// The user who first saved the record; nil until it was saved or fetched.
    open var creatorUserRecordID: CKRecord.ID? { state.withLock { $0.metadata.creatorUserRecordID } }
    /// The date of the first save; nil until the record was saved or fetched.
    open var creationDate: Date? { state.withLock { $0.metadata.creationDate } }
    /// The user who last saved the record; nil until it was saved or fetched.
    open var lastModifiedUserRecordID: CKRecord.ID? { state.withLock { $0.metadata.lastModifiedUserRecordID } }
    /// The date of the last save; nil until the record was saved or fetched.
    open var modificationDate: Date? { state.withLock { $0.metadata.modificationDate } }

    // MARK: Fields

    /// Returns the value of a field; nil if the record lacks the field. For an encrypted field it is nil too, because
    /// only `encryptedValues` returns encrypted fields.
    open func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        state.withLock { state -> RecordValue? in
            guard let field = state.fields[key], !field.isEncrypted else { return nil }
            return field.value
        }?.object
    }

    /// Sets a field to a copy of the value. Nil removes the field, and the next save removes it on the service.
    open func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey) {
        NameRules.checkFieldKey(key)
        let value = object.map { RecordValue(checking: $0) }
        state.withLock { $0.set(value, forKey: key, encrypt: false) }
    }

    /// The value of a field, read by `object(forKey:)` and set by `setObject(_:forKey:)`.
    public subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// Returns the sorted keys of the fields that have a value, encrypted fields included.
    open func allKeys() -> [CKRecord.FieldKey] {
        state.withLock { $0.fields.keys }
    }

    /// Returns the sorted keys of the fields that were set or removed since the record was last saved or fetched.
    open func changedKeys() -> [CKRecord.FieldKey] {
        state.withLock { $0.changes.keys.sorted() }
    }

    // MARK: Hierarchy

    /// The record's parent in its hierarchy; nil if it has none. A share of the parent includes this record. Setting a
    /// reference whose action is not `.none` stops the program.
    open var parent: CKRecord.Reference? {
        get { state.withLock { $0.parent } }
        set {
            newValue.map(Self.checkParentAction)
            state.withLock { $0.setParent(newValue) }
        }
    }

    /// Sets the parent to `parentRecord`; nil removes this record from its parent.
    open func setParent(_ parentRecord: CKRecord?) {
        setParent(parentRecord?.recordID)
    }

    /// Sets the parent to the record with the given ID; nil removes this record from its parent.
    open func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    /// The share whose root is this record; nil if there is none.
    open var share: CKRecord.Reference? { state.withLock { $0.metadata.share } }

    // MARK: Copies and archives

    open func copy(with zone: NSZone? = nil) -> Any {
        record(with: state.withLock { $0 })
    }

    /// Returns the share's properties that a save sends; nil for a record that is not a share.
    func shareToSend() -> ShareToModify? { nil }

    /// Adopts the service's properties of a saved share. Does nothing for other records.
    func absorb(share wire: ShareDictionary?, _ users: WireUsers) {}

    /// Creates a record with another state and this record's type, ID and class.
    func record(with state: RecordState) -> CKRecord {
        CKRecord(recordType: recordType, recordID: recordID, state: state)
    }

    open class var supportsSecureCoding: Bool { true }

    /// Restores a record from an archive of the whole record or of its system fields alone; nil if the archive lacks a
    /// record type or a record ID.
    public required init?(coder: NSCoder) {
        guard let archive = RecordArchive(coder: coder) else { return nil }
        givenType = archive.recordType
        givenID = archive.recordID
        state = Mutex(archive.state)
    }

    /// Archives the record with its fields and its changes.
    open func encode(with coder: NSCoder) {
        let archive = RecordArchive(recordType: recordType, recordID: recordID, state: state.withLock { $0 })
        archive.encodeSystemFields(with: coder)
        archive.encodeFields(with: coder)
    }

    /// Archives the service's metadata of the record (ID, type, change tag, dates, …), but neither fields nor changes.
    open func encodeSystemFields(with coder: NSCoder) {
        RecordArchive(recordType: recordType, recordID: recordID, state: state.withLock { $0 })
            .encodeSystemFields(with: coder)
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.record.archiverClass(for: self) }

    // MARK: Identity

    /// Returns whether the other object is an equal record. Records with equal IDs, types and change tags are equal.
    /// Records that were never saved have no change tag, so they are equal only if their parents and fields are equal
    /// too.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecord else { return false }
        if self === other { return true }
        guard recordID == other.recordID, recordType == other.recordType, recordChangeTag == other.recordChangeTag
        else { return false }
        if recordChangeTag != nil { return true }
        let (mine, theirs) = (state.withLock { $0 }, other.state.withLock { $0 })
        return mine.parent == theirs.parent && mine.fields.keys == theirs.fields.keys
            && mine.fields.keys.allSatisfy { key in
                guard let field = mine.fields[key], let other = theirs.fields[key] else { return false }
                return field.isEncrypted == other.isEncrypted && field.value.isSame(as: other.value)
            }
    }

    open override var hash: Int { recordID.hash }

    open override var description: String {
        let state = self.state.withLock { $0 }
        let values = state.sortedFields { !$0.isEncrypted }.map { "\($0.key)=\($0.value.object)" }
        let zone = recordID.zoneID
        return "<\(type(of: self)): \(address(of: self)); recordType=\(recordType), "
            + "recordID=\(recordID.recordName):(\(zone.zoneName):\(zone.ownerName)), "
            + "recordChangeTag=\(state.metadata.changeTag ?? "nil"), values={ \(values.joined(separator: ", ")) }>"
    }

    open override var debugDescription: String { description }
}

extension CKRecord {
    /// Returns an iterator over the record's unencrypted fields with their keys, sorted by key.
    public func makeIterator() -> CKRecordKeyValueIterator {
        CKRecordKeyValueIterator(state.withLock { $0.sortedFields { !$0.isEncrypted } })
    }

    /// Returns the words of the record's string fields, for an app's own full-text search.
    ///
    /// Each string is split at white space. Case and diacritical marks are folded away, by the current locale.
    public func allTokens() -> [String] {
        state.withLock { $0.sortedFields { !$0.isEncrypted } }.flatMap { field -> [String] in
            guard case .string(let text) = field.value else { return [] }
            return text.split(whereSeparator: \.isWhitespace).map {
                $0.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: .current)
            }
        }
    }
}
