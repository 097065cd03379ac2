import CloudKit

// How apps' tests were seen to put CloudKit's own classes and their conformances to use.

/// A record with the dates and users that only the service sets.
final class DatedRecord: CKRecord, @unchecked Sendable {
    var date: Date?
    var user: CKRecord.ID?

    override var creationDate: Date? { date }
    override var modificationDate: Date? { date ?? super.modificationDate }
    override var recordChangeTag: String? { date == nil ? super.recordChangeTag : "tag" }
    override var creatorUserRecordID: CKRecord.ID? { user }
    override var lastModifiedUserRecordID: CKRecord.ID? { user }
    override var recordID: CKRecord.ID { super.recordID }
}

/// A record type with an initialiser of its own.
final class NoteRecord: CKRecord, @unchecked Sendable {
    let title: String

    init(title: String) {
        self.title = title
        super.init(recordType: "Note", recordID: CKRecord.ID(recordName: title))
        self["title"] = title
    }

    required init?(coder: NSCoder) { nil }
}

/// A container whose account is as the test wants it.
final class AccountContainer: CKContainer, @unchecked Sendable {
    var status = CKAccountStatus.available

    override func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, Error?) -> Void) {
        completionHandler(status, nil)
    }

    override func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, Error?) -> Void) {
        completionHandler(status == .available ? CKRecord.ID(recordName: "user") : nil, nil)
    }
}

final class AcceptedShare: CKShare, @unchecked Sendable {
    override var url: URL? { URL(string: "https://www.icloud.com/share/0") }
    override var currentUserParticipant: CKShare.Participant? { nil }
}

// Everything of a share that an app's model asks.
struct SharingState: Sendable, Equatable {
    var isOwner = false
    var canEdit = false
    var names: [String] = []

    init(_ share: CKShare) {
        isOwner = share.currentUserParticipant?.role == .owner
        switch share.currentUserParticipant?.permission {
        case .readWrite: canEdit = true
        case .readOnly, .some(.none), .unknown, nil: canEdit = share.publicPermission == .readWrite
        @unknown default: break
        }
        names = share.participants.map { participant in
            let identity = participant.userIdentity
            guard let name = identity.nameComponents else {
                return identity.lookupInfo?.emailAddress ?? identity.userRecordID?.recordName ?? "unknown"
            }
            return [name.givenName, name.familyName].compactMap { $0 }.joined(separator: " ")
        }
    }
}

enum Sharing {
    static func accept(
        _ metadata: CKShare.Metadata, completion: @escaping @Sendable (Result<CKShare, Error>) -> Void
    ) {
        let operation = CKAcceptSharesOperation(shareMetadatas: [metadata])
        operation.qualityOfService = .userInitiated
        operation.perShareResultBlock = { metadata, result in
            if metadata.participantStatus == .pending, metadata.hierarchicalRootRecordID == nil { completion(result) }
        }
        operation.acceptSharesResultBlock = { result in
            if case .failure(let error) = result { completion(.failure(error)) }
        }
        CKContainer(identifier: metadata.containerIdentifier).add(operation)
    }

    static func invite(_ email: String, to share: CKShare, in container: CKContainer) async throws {
        let participant = try await container.shareParticipant(forEmailAddress: email)
        participant.permission = .readWrite
        participant.role = .privateUser
        share.addParticipant(participant)
        share[CKShare.SystemFieldKey.title] = "Shared" as CKRecordValue
        share.publicPermission = .none
    }

    static func zoneShare(in database: CKDatabase, zone: CKRecordZone.ID) async throws -> CKShare? {
        let id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: zone)
        return try await database.records(for: [id])[id].flatMap { try? $0.get() } as? CKShare
    }
}
