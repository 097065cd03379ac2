import CloudKit
import CloudKitTesting
import Foundation

/// An app with its user's own items and a shared list of mei, whose participants accept its invitation.
final class SharingApp: SimulatedApp {
    static let owner = "mei"
    private static let invitationID = CKRecord.ID(recordName: "invitation")

    private let own: EngineApp
    private let list: SharedList

    /// - Parameter isMended: whether participants' changes are sent.
    init(_ device: CloudDevice, isMended: Bool) async throws {
        own = try await EngineApp(device, isMended: true)
        list = try await SharedList(device, isMended: isMended)
    }

    func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
        switch Int.random(in: 0..<8, using: &random) {
        case 0...1:
            if list.isOwners { try await share() } else { try await accept() }
            return [:]
        case 2...6 where list.isOwners || list.takesPart: return try await list.edit(using: &random)
        default: return try await own.edit(using: &random)
        }
    }

    private func share() async throws {
        let container = list.container
        guard list.disk.hasZone, !list.disk.isShared else { return }
        let share = CKShare(recordZoneID: list.disk.zoneID)
        share.publicPermission = .readWrite
        let saved = try await container.privateCloudDatabase.save(share) as? CKShare
        let invitation = CKRecord(recordType: "Invitation", recordID: Self.invitationID)
        invitation["url"] = saved?.url?.absoluteString
        _ = try await container.publicCloudDatabase.modifyRecords(
            saving: [invitation], deleting: [], savePolicy: .allKeys)
    }

    private func accept() async throws {
        let container = list.container
        if list.takesPart { return }
        do {
            let invitation = try await container.publicCloudDatabase.record(for: Self.invitationID)
            guard let url = (invitation["url"] as String?).flatMap(URL.init(string:)) else { return }
            _ = try await container.accept(container.shareMetadata(for: url))
        } catch let error as CKError where error.code == .unknownItem {
            // There is no invitation, or it is of a list that is gone.
        }
    }

    func sync() async throws {
        try await own.sync()
        try await list.sync()
    }

    var contents: [String: String] { own.contents.merging(list.contents) { own, _ in own } }
    var shares: [String: Set<String>] { list.takesPart ? ["list": Set(list.contents.keys)] : [:] }
}

/// The list's items: in a zone of the owner's private database, which the participants have in their shared database.
private final class SharedList: EngineApp, @unchecked Sendable {
    // Unchecked like its superclass; its own state is constant.

    let isOwners: Bool

    required init(_ device: CloudDevice, isMended: Bool) async throws {
        isOwners = device.account == SharingApp.owner
        try await super.init(device, isMended: isMended)
        try update { $0.zone = "List" }
    }

    override class var fileName: String { "list.json" }
    override var database: CKDatabase { isOwners ? super.database : container.sharedCloudDatabase }
    var takesPart: Bool { isOwners ? disk.isShared : disk.hasZone }

    override func queue(_ names: [String]) {
        // A participant has nowhere to send to before the zone was fetched.
        if isOwners || disk.hasZone && isMended { super.queue(names) }
    }
}
