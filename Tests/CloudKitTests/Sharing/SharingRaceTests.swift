import CloudKit
import Testing

/// Concurrent sharing requests are serialisable.
@Suite struct SharingRaceTests {
    private func both(_ one: @Sendable () async throws -> Void, _ other: @Sendable () async throws -> Void) async {
        async let first: ()? = try? one()
        async let second: ()? = try? other()
        _ = await (first, second)
    }

    @Test func `an acceptance concurrent with the participant's removal leaves nothing readable`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(with: "bob@localhost")
            let (guest, database) = (cloud.container("bob"), list.owner.privateCloudDatabase)
            for _ in 0..<20 {
                let metadata = try await guest.shareMetadata(for: try #require(share.url))
                await both {
                    _ = try await guest.accept(metadata)
                } _: {
                    // Until it was removed: the acceptance may have changed the share.
                    while true {
                        guard let current = try await database.record(for: share.recordID) as? CKShare else { return }
                        for participant in current.participants where participant.role != .owner {
                            current.removeParticipant(participant)
                        }
                        if await database.codeOfSaving(current) == nil { return }
                    }
                }
                #expect(try await guest.sharedCloudDatabase.allRecordZones().isEmpty)
                let current = try #require(try await database.record(for: share.recordID) as? CKShare)
                #expect(current.participants.count == 1)
                await #expect(codeOf { _ = try await guest.accept(metadata) } == .unknownItem)
                current.addParticipant(try await list.owner.shareParticipant(forEmailAddress: "bob@localhost"))
                try await database.saveAll([current])
            }
        }
    }

    @Test func `a participant's save concurrent with the record's move is visible or refused`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(with: "bob@localhost")
            let (guest, database) = (cloud.container("bob"), list.owner.privateCloudDatabase)
            try await guest.join(share.url)
            let owner = try await list.owner.userRecordID().recordName
            let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: owner)
            let device = SharedDevice(guest)
            for round in 0..<20 {
                let folder = CKRecord(
                    recordType: "Item", recordID: CKRecord.ID(recordName: "folder\(round)", zoneID: list.zoneID))
                folder.setParent(list.root.recordID)
                try await database.saveAll([folder])
                let name = "new\(round)"
                let new = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
                new.setParent(CKRecord.ID(recordName: folder.recordID.recordName, zoneID: zoneID))
                await both {
                    try await guest.sharedCloudDatabase.saveAll([new])
                } _: {
                    folder.parent = nil
                    try await database.saveAll([folder])
                }
                // Whether or not it was saved, it left with its parent.
                await #expect(
                    codeOf { _ = try await guest.sharedCloudDatabase.record(for: new.recordID) } == .unknownItem)
                try await device.follow()
                #expect(await device.zones[zoneID]?[name] == nil)
            }
        }
    }

    @Test func `two devices of the owner that share a record at once make one share`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            for round in 0..<10 {
                let root = CKRecord(
                    recordType: "List", recordID: CKRecord.ID(recordName: "list\(round)", zoneID: list.zoneID))
                try await list.owner.privateCloudDatabase.saveAll([root])
                let devices = [cloud.container("alice"), cloud.container("alice")]
                let codes = await withTaskGroup(of: CKError.Code?.self) { group in
                    for device in devices {
                        group.addTask {
                            let database = device.privateCloudDatabase
                            guard let own = try? await database.record(for: root.recordID) else { return .unknownItem }
                            return await database.codeOfSaving(own, CKShare(rootRecord: own))
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(codes.filter { $0 == nil }.count == 1)
                #expect(codes.contains(.alreadyShared) || codes.contains(.serverRecordChanged))
                let query = CKQuery(recordType: CKRecord.SystemType.share, predicate: NSPredicate(value: true))
                let found = try await list.owner.privateCloudDatabase.records(
                    matching: query, inZoneWith: list.zoneID, resultsLimit: 100)
                #expect(found.matchResults.count == round + 1)
            }
        }
    }

    @Test func `a share has at most 100 participants although more join concurrently`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(publicly: .readOnly)
            let url = try #require(share.url)
            let joined = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<120 {
                    group.addTask { (try? await cloud.container("guest\(number)").join(url)) != nil }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(joined == 100)
            let current = try await list.owner.privateCloudDatabase.record(for: share.recordID) as? CKShare
            #expect(current?.participants.count == 101)
        }
    }
}
