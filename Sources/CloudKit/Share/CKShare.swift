public import Foundation
import NephosWire
import Synchronization

/// A record that shares a hierarchy of records, or a whole zone, with other users.
open class CKShare: CKRecord, @unchecked Sendable {
    /// The keys of a share's fields that describe the shared content.
    public enum SystemFieldKey {
        /// The title of the content, a `String`.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// An image of the content, as the bytes of a file.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// The uniform type identifier of the content, a `String`.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    struct ShareState: Sendable {
        var url: URL?
        var publicPermission = ParticipantPermission.none
        var participants = [Participant.currentUser]
        /// The ID of the root record; nil if a whole zone is shared.
        var rootRecordID: CKRecord.ID?
        var accessRequests = AccessRequests()
        /// The one-time URLs, by the identifier of the participant who joins by the URL.
        var oneTimeURLs: [Participant.ID: URL] = [:]
        /// Whether the service has encryption keys of the share. The next property states whether it needs further keys
        /// from the owner.
        var hasKeys = false
        var wantsKeys = false
    }

    // A lock guards the share's own state, as one guards the record's state, hence the `@unchecked Sendable` of the
    // class.
    let shareState: Mutex<ShareState>

    /// Creates a share of the hierarchy below `rootRecord`, and makes the record refer to the share.
    public init(rootRecord: CKRecord) {
        let shareID = CKRecord.ID(zoneID: rootRecord.recordID.zoneID)
        shareState = Mutex(ShareState(rootRecordID: rootRecord.recordID))
        super.init(recordType: CKRecord.SystemType.share, recordID: shareID, state: RecordState())
        rootRecord.setShare(CKRecord.Reference(recordID: shareID, action: .none))
    }

    /// Creates a share of the hierarchy below `rootRecord` with the given ID, which must be in the record's zone.
    public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        shareState = Mutex(ShareState(rootRecordID: rootRecord.recordID))
        super.init(recordType: CKRecord.SystemType.share, recordID: shareID, state: RecordState())
        rootRecord.setShare(CKRecord.Reference(recordID: shareID, action: .none))
    }

    /// Creates a share of a whole zone.
    public init(recordZoneID: CKRecordZone.ID) {
        shareState = Mutex(ShareState())
        super.init(
            recordType: CKRecord.SystemType.share,
            recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID), state: RecordState())
    }

    // Overrides all designated initializers, so that a share inherits the convenience initializers that apps add to
    // records.

    @available(
        *, unavailable, message: "a share has a root record or a zone: use init(rootRecord:) or init(recordZoneID:)"
    )
    public override init(recordType: CKRecord.RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        raise("CKShare has no init(recordType:recordID:): use init(rootRecord:) or init(recordZoneID:).")
    }

    @available(
        *, unavailable, message: "a share has a root record or a zone: use init(rootRecord:) or init(recordZoneID:)"
    )
    public override init(recordType: CKRecord.RecordType, zoneID: CKRecordZone.ID) {
        raise("CKShare has no init(recordType:zoneID:): use init(rootRecord:) or init(recordZoneID:).")
    }

    override init(recordType: CKRecord.RecordType, recordID: CKRecord.ID, state: RecordState) {
        shareState = Mutex(ShareState())
        super.init(recordType: recordType, recordID: recordID, state: state)
    }

    init(recordID: CKRecord.ID, state: RecordState, shareState: ShareState = ShareState()) {
        self.shareState = Mutex(shareState)
        super.init(recordType: CKRecord.SystemType.share, recordID: recordID, state: state)
        for participant in shareState.participants { participant.belong(to: self) }
    }

    /// The permission of accounts that have the share's URL; `.none` restricts the share to invited participants.
    ///
    /// Setting any other value removes pending participants. Setting `.none` removes the participants who joined by the
    /// public URL.
    open var publicPermission: ParticipantPermission {
        get { shareState.withLock { $0.publicPermission } }
        set {
            shareState.withLock { state in
                state.publicPermission = newValue
                state.participants.removeAll { participant in
                    newValue == .none ? participant.role == .publicUser : participant.acceptanceStatus == .pending
                }
            }
        }
    }

    /// The URL by which accounts join the share; nil until the share is saved.
    open var url: URL? { shareState.withLock { $0.url } }

    /// The participants that the current user may see: at least the owner and the current user.
    open var participants: [CKShare.Participant] { shareState.withLock { $0.participants } }

    /// The participant who owns the share.
    open var owner: CKShare.Participant {
        participants.first { $0.role == .owner } ?? Participant.currentUser
    }

    /// The current user as a participant; nil if the user is not among `participants`.
    open var currentUserParticipant: CKShare.Participant? {
        participants.first { $0.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName }
    }

    override func shareToSend() -> ShareToModify? { shareToModify() }

    override func absorb(share wire: ShareDictionary?, _ users: WireUsers) {
        guard let wire else { return }
        var saved = ShareState(wire: wire, shareID: recordID, users)
        shareState.withLock { state in
            saved.keepOneTimeIdentifiers(of: state.participants)
            saved.keepObjects(of: state.participants, in: self)
            state = saved
        }
    }

    /// Adds the secret fragments of the links to the URLs of the share.
    func add(_ links: ShareLinks) {
        shareState.withLock { state in
            if let link = links.share { state.url = state.url.map(link.adding) }
            // A participant may have two identifiers: one from this client and one from the service.
            let byURL = Dictionary(
                state.oneTimeURLs.compactMap { id, url in links.oneTime[id].map { (url, $0) } }
            ) { first, _ in first }
            state.oneTimeURLs = state.oneTimeURLs.mapValues { byURL[$0]?.adding(to: $0) ?? $0 }
        }
    }

    override func record(with state: RecordState) -> CKRecord {
        CKShare(recordID: recordID, state: state, shareState: shareState.withLock { $0.copied() })
    }

    /// Restores a share from an archive. If the archive contains no share, creates an empty share and fails the coder.
    public required init(coder: NSCoder) {
        shareState = Mutex(
            ShareState(
                url: coder.object(of: NSURL.self, forKey: ArchiveKey.shareURL).map { $0 as URL },
                publicPermission: ParticipantPermission(
                    rawValue: coder.decodeInteger(forKey: ArchiveKey.publicPermission)) ?? .none,
                participants: (coder.object(
                    ofAny: [NSArray.self, Participant.self], forKey: ArchiveKey.participants) as? [Participant])
                    ?? [.currentUser],
                rootRecordID: coder.object(of: CKRecord.ID.self, forKey: ArchiveKey.rootRecordID),
                accessRequests: AccessRequests(coder: coder), oneTimeURLs: Self.oneTimeURLs(coder)))
        let archive = RecordArchive(coder: coder)
        if archive == nil {
            coder.failWithError(CocoaError(.coderReadCorrupt))
        }
        super.init(
            recordType: CKRecord.SystemType.share, recordID: archive?.recordID ?? CKRecord.ID(),
            state: archive?.state ?? RecordState())
        for participant in shareState.withLock({ $0.participants }) { participant.belong(to: self) }
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        encodeShareFields(with: coder)
    }

    open override func encodeSystemFields(with coder: NSCoder) {
        super.encodeSystemFields(with: coder)
        encodeShareFields(with: coder)
    }

    private func encodeShareFields(with coder: NSCoder) {
        let state = shareState.withLock { $0 }
        if let url = state.url { coder.encode(url as NSURL, forKey: ArchiveKey.shareURL) }
        coder.encode(state.publicPermission.rawValue, forKey: ArchiveKey.publicPermission)
        coder.encode(state.participants as NSArray, forKey: ArchiveKey.participants)
        state.accessRequests.encode(with: coder)
        if !state.oneTimeURLs.isEmpty {
            let urls = state.oneTimeURLs.sorted { $0.key < $1.key }
            coder.encode(urls.map { $0.key as NSString } as NSArray, forKey: ArchiveKey.oneTimeURLIDs)
            coder.encode(urls.map { $0.value as NSURL } as NSArray, forKey: ArchiveKey.oneTimeURLs)
        }
        if let rootRecordID = state.rootRecordID { coder.encode(rootRecordID, forKey: ArchiveKey.rootRecordID) }
    }

    private static func oneTimeURLs(_ coder: NSCoder) -> [Participant.ID: URL] {
        let ids = coder.object(ofAny: [NSArray.self, NSString.self], forKey: ArchiveKey.oneTimeURLIDs)
        let urls = coder.object(ofAny: [NSArray.self, NSURL.self], forKey: ArchiveKey.oneTimeURLs)
        guard let ids = ids as? [String], let urls = urls as? [URL] else { return [:] }
        return Dictionary(zip(ids, urls)) { first, _ in first }
    }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.share.archiverClass(for: self) }
}
