import CloudKit
import Testing

/// How participants' devices are notified of changes.
@Suite struct SharingSyncTests {
    /// A list that bob takes part in, and its zone as bob names it.
    private func withGuest(
        _ transport: Transport = .inProcess,
        _ body: (Cloud, SharedList, CKContainer, CKRecordZone.ID) async throws -> Void
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(with: "bob@localhost")
            let guest = cloud.container("bob")
            let joined = try await guest.join(share.url)
            try await body(cloud, list, guest, joined.recordID.zoneID)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: Transport.allCases)
    func `a database subscription notifies only of shared records`(
        _ transport: Transport
    ) async throws {
        try await withGuest(transport) { _, list, guest, zoneID in
            let subscription = CKDatabaseSubscription(subscriptionID: "shared")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            _ = try await guest.sharedCloudDatabase.save(subscription)
            let notifications = try await guest.notifications()
            var iterator = notifications.makeAsyncIterator()
            let own = list.owner.privateCloudDatabase
            // Nobody is woken by this.
            let note = try await own.record(for: CKRecord.ID(recordName: "note", zoneID: list.zoneID))
            note["title"] = "Still private"
            try await own.saveAll([note])
            list.item["title"] = "Oat milk"
            try await own.saveAll([list.item])
            let first = try #require(await iterator.next() as? CKDatabaseNotification)
            #expect(first.databaseScope == .shared && first.subscriptionID == "shared")
            let shareID = try #require(list.root.share).recordID
            let share = try #require(try await own.record(for: shareID) as? CKShare)
            share.removeParticipant(try #require(share.participants.last))
            try await own.saveAll([share])
            // A removal notifies who is removed.
            #expect(await iterator.next() is CKDatabaseNotification)
            #expect(try await guest.sharedCloudDatabase.allRecordZones().isEmpty)
            _ = zoneID
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: Transport.allCases)
    func `an automatic engine fetches a share that its own device accepts`(_ transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let lists = [
                try await SharedList(cloud.container("alice")), try await SharedList(cloud.container("carol")),
            ]
            let guest = cloud.container("bob")
            let device = SyncDevice()
            device.start(guest.sharedCloudDatabase, automatically: true)
            await device.wait { $0.contains("did fetch") }
            for list in lists {
                let share = try await list.share(with: "bob@localhost")
                device.clearLog()
                try await guest.join(share.url)
                let name = list.item.recordID.recordName
                await device.wait { $0.contains { $0.hasPrefix("fetched") && $0.contains("\"\(name)\"") } }
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a subscription of one record type is notified of every shared change`()
        async throws
    {
        try await withGuest { cloud, list, guest, _ in
            let listener = try await SharingListener(guest, other: cloud.container("bob"), recordType: "Item")
            list.item["title"] = "Oat milk"
            try await list.owner.privateCloudDatabase.saveAll([list.item])
            await cloud.settle()
            #expect(try await listener.hasHeard())
        }
    }

    @Test(.timeLimit(.minutes(5))) func `removing a participant without access notifies no account`() async throws {
        try await withGuest { cloud, list, guest, _ in
            let listener = try await SharingListener(guest, other: cloud.container("bob"))
            let own = list.owner.privateCloudDatabase
            let shareID = try #require(list.root.share).recordID
            let share = try #require(try await own.record(for: shareID) as? CKShare)
            share.participants.last?.permission = .none
            try await own.saveAll([share])
            await cloud.settle()
            #expect(try await listener.hasHeard())
            share.removeParticipant(try #require(share.participants.last))
            try await own.saveAll([share])
            await cloud.settle()
            #expect(try await listener.hasHeard() == false)
        }
    }

    @Test func `the shared database accepts only database subscriptions`() async throws {
        try await withGuest { _, _, guest, zoneID in
            let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone")
            await #expect(codeOf { _ = try await guest.sharedCloudDatabase.save(zone) } == .badDatabase)
            let query = CKQuerySubscription(
                recordType: "Item", predicate: NSPredicate(value: true), subscriptionID: "query",
                options: .firesOnRecordCreation)
            await #expect(codeOf { _ = try await guest.sharedCloudDatabase.save(query) } == .badDatabase)
        }
    }

    @Test(.timeLimit(.minutes(5))) func `sync engines synchronise both databases`() async throws {
        try await withGuest { _, list, guest, zoneID in
            let (owner, participant) = (SyncDevice(), SyncDevice())
            owner.start(list.owner.privateCloudDatabase)
            participant.start(guest.sharedCloudDatabase)
            try await owner.engine.fetchChanges()
            try await participant.engine.fetchChanges()
            let shareName = try #require(list.root.share).recordID.recordName
            #expect(Set(owner.notes.keys.map(\.recordName)) == ["list", "milk", "note", shareName])
            #expect(Set(participant.notes.keys.map(\.recordName)) == ["list", "milk", shareName])
            #expect(participant.notes.keys.allSatisfy { $0.zoneID == zoneID })
            // A share that is saved past the engine arrives with its next fetch.
            let shareID = try #require(list.root.share).recordID
            let share = try #require(
                try await list.owner.privateCloudDatabase.record(for: shareID) as? CKShare)
            share[CKShare.SystemFieldKey.title] = "Renamed"
            try await list.owner.privateCloudDatabase.saveAll([share])
            try await owner.engine.fetchChanges()
            let fetched = owner.notes.first { $0.key.recordName == shareName }?.value.record as? CKShare
            #expect(fetched?[CKShare.SystemFieldKey.title] == "Renamed" && fetched?.participants.count == 2)
            // The participant's engine sends, and the owner's fetches.
            participant.edit(CKRecord.ID(recordName: "milk", zoneID: zoneID), "Bob's")
            try await participant.engine.sendChanges()
            try await owner.engine.fetchChanges()
            #expect(owner.texts["milk"] == "Bob's")
            // What is not shared any more goes.
            try await list.owner.privateCloudDatabase.saveAll([], deleting: [share.recordID])
            try await participant.engine.fetchChanges()
            #expect(participant.notes.isEmpty)
        }
    }
}
