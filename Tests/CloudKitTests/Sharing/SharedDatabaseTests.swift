import CloudKit
import Testing

/// Reads and writes of participants in the shared database, and records hidden from them.
@Suite struct SharedDatabaseTests {
    /// A shared list, and its guest's view of it.
    private struct Shared {
        var cloud: Cloud
        var list: SharedList
        var share: CKShare
        var guest: CKContainer
        var zoneID: CKRecordZone.ID

        var own: CKDatabase { list.owner.privateCloudDatabase }
        var database: CKDatabase { guest.sharedCloudDatabase }

        func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

        func record(_ name: String, under parent: String? = nil, type: String = "Item") -> CKRecord {
            let record = CKRecord(recordType: type, recordID: id(name))
            if let parent { record.setParent(id(parent)) }
            return record
        }
    }

    private func withShared(
        _ permission: CKShare.ParticipantPermission = .readWrite, _ transport: Transport = .inProcess,
        _ body: (Shared) async throws -> Void
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(with: "bob@localhost", permission)
            let guest = cloud.container("bob")
            let joined = try await guest.join(share.url)
            try await body(
                Shared(cloud: cloud, list: list, share: share, guest: guest, zoneID: joined.recordID.zoneID))
        }
    }

    @Test func `a participant's deletion spares parents of unshared records, whose names stay taken`() async throws {
        try await withShared { shared in
            func own(_ name: String) -> CKRecord {
                CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: shared.list.zoneID))
            }
            let account = own("account")
            account["of"] = CKRecord.Reference(record: shared.list.item, action: .deleteSelf)
            let secret = own("secret")
            secret.setParent(account)
            try await shared.own.saveAll([account, secret])
            try await shared.database.saveAll([], deleting: [shared.id("milk")])
            await #expect(shared.database.codeOfSaving(shared.record("account", under: "list")) == .serverRecordChanged)
            secret["pin"] = 1234
            try await shared.own.saveAll([secret])
            await #expect(codeOf { _ = try await shared.database.record(for: shared.id("secret")) } == .unknownItem)
        }
    }

    @Test func `a query without a zone is refused in the shared database`() async throws {
        try await withShared { shared in
            let query = CKQuery(recordType: "Item", predicate: NSPredicate(value: true))
            await #expect(codeOf { _ = try await shared.database.records(matching: query) } == .invalidArguments)
            let found = try await shared.database.records(matching: query, inZoneWith: shared.zoneID)
            #expect(found.matchResults.map(\.0.recordName) == ["milk"])
        }
    }

    @Test func `a participant with write permission creates, changes and deletes below the root`() async throws {
        try await withShared { shared in
            let bread = shared.record("bread", under: "list")
            bread["title"] = "Bread"
            let crumb = shared.record("crumb", under: "bread")
            try await shared.database.saveAll([crumb, bread])
            bread["title"] = "Rye"
            try await shared.database.saveAll([bread])
            #expect(
                try await shared.own.record(for: CKRecord.ID(recordName: "bread", zoneID: shared.list.zoneID))["title"]
                    == "Rye")
            try await shared.database.saveAll([], deleting: [crumb.recordID, bread.recordID])
            await #expect(
                codeOf {
                    _ = try await shared.own.record(for: CKRecord.ID(recordName: "bread", zoneID: shared.list.zoneID))
                } == .unknownItem)
        }
    }

    @Test func `a new record needs a parent that is shared`() async throws {
        try await withShared { shared in
            await #expect(shared.database.codeOfSaving(shared.record("loose")) == .permissionFailure)
            await #expect(
                shared.database.codeOfSaving(shared.record("loose", under: "note")) == .referenceViolation)
            await #expect(
                shared.database.codeOfSaving(shared.record("loose", under: "nothing")) == .referenceViolation)
        }
    }

    @Test func `a participant with read permission changes nothing`() async throws {
        try await withShared(.readOnly) { shared in
            let item = try await shared.database.record(for: shared.id("milk"))
            item["title"] = "Oat"
            await #expect(shared.database.codeOfSaving(item) == .permissionFailure)
            await #expect(
                shared.database.codeOfSaving(shared.record("new", under: "list")) == .permissionFailure)
            await #expect(shared.database.codeOfSaving(deleting: [shared.id("milk")]) == .permissionFailure)
        }
    }

    @Test func `only the owner deletes the root, or moves a record out of the share`() async throws {
        try await withShared { shared in
            await #expect(
                shared.database.codeOfSaving(deleting: [shared.id("milk"), shared.id("list")]) == .permissionFailure)
            let item = try await shared.database.record(for: shared.id("milk"))
            item.parent = nil
            await #expect(shared.database.codeOfSaving(item) == .permissionFailure)
            item.setParent(shared.id("note"))
            await #expect(shared.database.codeOfSaving(item) == .referenceViolation)
            let child = shared.record("child", under: "milk")
            try await shared.database.saveAll([child])
            child.setParent(shared.id("list"))
            try await shared.database.saveAll([child])
        }
    }

    @Test(arguments: Transport.allCases)
    func `unshared records answer as missing ones`(_ transport: Transport) async throws {
        try await withShared(.readWrite, transport) { shared in
            /// What a request about a record of that name answers, without what names it.
            func answers(_ name: String) async throws -> [String] {
                var answers: [String] = []
                func note(_ error: any Error) {
                    let error = error as? CKError
                    let text = error?.localizedDescription ?? ""
                    answers.append("\(error?.code.rawValue ?? 0) \(text.replacingOccurrences(of: name, with: "?"))")
                }
                do { _ = try await shared.database.record(for: shared.id(name)) } catch { note(error) }
                let parented = shared.record("x-\(name)", under: name)
                let owned = shared.record("y-\(name)", under: "list")
                owned["owner"] = CKRecord.Reference(recordID: shared.id(name), action: .deleteSelf)
                for record in [parented, owned] {
                    let result = try await shared.database.modifyRecords(saving: [record], deleting: [])
                    for result in result.saveResults.values { if let error = result.error { note(error) } }
                }
                let deleted = try await shared.database.modifyRecords(saving: [], deleting: [shared.id(name)])
                for result in deleted.deleteResults.values { if let error = result.error { note(error) } }
                return answers
            }
            #expect(try await answers("note") == (try await answers("nothing")))
            // Still there.
            _ = try await shared.own.record(for: CKRecord.ID(recordName: "note", zoneID: shared.list.zoneID))
            // A taken name is refused without the record.
            let taken = shared.record("note", under: "list")
            let result = try await shared.database.modifyRecords(saving: [taken], deleting: [])
            let error = try #require(result.saveResults[taken.recordID]?.error as? CKError)
            #expect(error.code == .serverRecordChanged && error.serverRecord == nil)
            let zone = CKRecordZone.ID(zoneName: "Other", ownerName: shared.zoneID.ownerName)
            await #expect(
                codeOf { _ = try await shared.database.record(for: CKRecord.ID(recordName: "a", zoneID: zone)) }
                    == .zoneNotFound)
        }
    }

    @Test func `zones cannot be made in the shared database, and owners do not see their own zones there`() async throws
    {
        try await withShared { shared in
            await #expect(
                codeOf { try await shared.database.save(CKRecordZone(zoneName: "New")) } == .badDatabase)
            #expect(try await shared.list.owner.sharedCloudDatabase.allRecordZones().isEmpty)
            let own = CKRecordZone.ID(
                zoneName: "Lists", ownerName: try await shared.list.owner.userRecordID().recordName)
            await #expect(
                codeOf {
                    _ = try await shared.list.owner.sharedCloudDatabase.record(
                        for: CKRecord.ID(recordName: "list", zoneID: own))
                } == .invalidArguments)
        }
    }

    @Test func `a query finds shared records before it limits and counts`() async throws {
        try await withShared { shared in
            let query = CKQuery(recordType: "Item", predicate: NSPredicate(value: true))
            let found = try await shared.database.records(matching: query, inZoneWith: shared.zoneID, resultsLimit: 1)
            #expect(found.matchResults.map(\.0.recordName) == ["milk"] && found.queryCursor == nil)
            #expect(try found.matchResults[0].1.get().recordID.zoneID == shared.zoneID)
            await #expect(
                codeOf { _ = try await shared.database.records(matching: query) } == .invalidArguments)
        }
    }

    @Test func `a participant's deletion does not cascade to a root`() async throws {
        try await withShared { shared in
            let anchor = shared.record("anchor", under: "list")
            try await shared.database.saveAll([anchor])
            let root = try await shared.database.record(for: shared.id("list"))
            root["anchor"] = CKRecord.Reference(recordID: anchor.recordID, action: .deleteSelf)
            try await shared.database.saveAll([root])
            try await shared.database.saveAll([], deleting: [anchor.recordID])
            _ = try await shared.own.record(for: shared.list.root.recordID)
        }
    }

    @Test func `a participant finds the children of a shared root by their parent, and no others`() async throws {
        try await withShared { shared in
            let deep = CKRecord(
                recordType: "Item", recordID: CKRecord.ID(recordName: "deep", zoneID: shared.list.zoneID))
            deep.setParent(shared.list.item)
            try await shared.own.saveAll([deep])
            func children(of name: String) async throws -> [String] {
                let reference = CKRecord.Reference(recordID: shared.id(name), action: .none)
                let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: "parent == %@", reference))
                let found = try await shared.database.records(matching: query, inZoneWith: shared.zoneID)
                return try found.matchResults.map { try $0.1.get().recordID.recordName }.sorted()
            }
            #expect(try await children(of: "list") == ["milk"])
            #expect(try await children(of: "milk") == ["deep"])
            #expect(try await children(of: "note").isEmpty)
        }
    }

    // MARK: Feeds

    @Test func `moving a record in and out appears as a change and a deletion`() async throws {
        try await withShared { shared in
            let start = try await shared.database.changes(in: shared.zoneID)
            let zoneID = shared.list.zoneID
            let note = try await shared.own.record(for: CKRecord.ID(recordName: "note", zoneID: zoneID))
            let below = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "below", zoneID: zoneID))
            below.setParent(note)
            try await shared.own.saveAll([below])
            #expect(try await shared.database.changes(in: shared.zoneID, since: start.token).names.isEmpty)
            let belowTag = below.recordChangeTag
            note.setParent(shared.list.root)
            try await shared.own.saveAll([note])
            let entered = try await shared.database.changes(in: shared.zoneID, since: start.token)
            #expect(entered.names == ["note", "below"] && entered.deleted.isEmpty)
            // What only moved with another keeps its change tag.
            #expect(try await shared.own.record(for: below.recordID).recordChangeTag == belowTag)
            note.parent = nil
            try await shared.own.saveAll([note])
            let left = try await shared.database.changes(in: shared.zoneID, since: entered.token)
            #expect(left.names.isEmpty && left.deleted == ["note", "below"])
            await #expect(codeOf { _ = try await shared.database.record(for: shared.id("below")) } == .unknownItem)
        }
    }

    @Test func `a second share of a zone arrives whole, and ends as deletions`() async throws {
        try await withShared { shared in
            let start = try await shared.database.changes(in: shared.zoneID)
            let zoneID = shared.list.zoneID
            let note = try await shared.own.record(for: CKRecord.ID(recordName: "note", zoneID: zoneID))
            let second = CKShare(rootRecord: note)
            second.publicPermission = .readOnly
            try await shared.own.saveAll([note, second])
            let feed = try await shared.database.changes(in: shared.zoneID, since: start.token)
            #expect(feed.names.isEmpty)
            try await shared.guest.join(second.url)
            #expect(try await shared.database.allRecordZones().count == 1)
            let both = try await shared.database.changes(in: shared.zoneID, since: feed.token)
            #expect(both.names == ["note", second.recordID.recordName])
            try await shared.own.saveAll([], deleting: [second.recordID])
            let later = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "later", zoneID: zoneID))
            later.setParent(note)
            try await shared.own.saveAll([later])
            let left = try await shared.database.changes(in: shared.zoneID, since: both.token)
            #expect(left.names.isEmpty && left.deleted == ["note", second.recordID.recordName])
            #expect(try await shared.database.changes(in: shared.zoneID, since: left.token).deleted.isEmpty)
        }
    }

    @Test func `what is deleted before a zone-wide share follows is told`() async throws {
        try await withShared { shared in
            let token = try await shared.database.changes(in: shared.zoneID).token
            let item = CKRecord.ID(recordName: "milk", zoneID: shared.list.zoneID)
            try await shared.own.saveAll([], deleting: [item, shared.share.recordID])
            let zoneWide = CKShare(recordZoneID: shared.list.zoneID)
            zoneWide.publicPermission = .readOnly
            try await shared.own.saveAll([zoneWide])
            try await shared.guest.join(zoneWide.url)
            let feed = try await shared.database.changes(in: shared.zoneID, since: token)
            #expect(feed.deleted == ["milk", shared.share.recordID.recordName])
            #expect(feed.names == ["list", "note", CKRecordNameZoneWideShare])
            #expect(try await shared.database.changes(in: shared.zoneID, since: feed.token).deleted.isEmpty)
        }
    }

    @Test func `joining again restarts the feed, and tokens belong to their account`() async throws {
        try await withShared { shared in
            let token = try await shared.database.changes(in: shared.zoneID).token
            try await shared.database.saveAll([], deleting: [shared.id(shared.share.recordID.recordName)])
            await #expect(
                codeOf { _ = try await shared.database.changes(in: shared.zoneID, since: token) } == .zoneNotFound)
            let share = try #require(try await shared.own.record(for: shared.share.recordID) as? CKShare)
            share.publicPermission = .readOnly
            try await shared.own.saveAll([share])
            try await shared.guest.join(share.url)
            await #expect(
                codeOf { _ = try await shared.database.changes(in: shared.zoneID, since: token) }
                    == .changeTokenExpired)
            let carol = shared.cloud.container("carol")
            try await carol.join(share.url)
            let fresh = try await shared.database.changes(in: shared.zoneID).token
            await #expect(
                codeOf { _ = try await carol.sharedCloudDatabase.changes(in: shared.zoneID, since: fresh) }
                    == .changeTokenExpired)
        }
    }

    @Test func `a zone that is shared as a whole shows all its records, deletions too`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let own = list.owner.privateCloudDatabase
            let share = CKShare(recordZoneID: list.zoneID)
            share.publicPermission = .readWrite
            try await own.saveAll([share])
            let guest = cloud.container("bob")
            let metadata = try await guest.shareMetadata(for: try #require(share.url))
            #expect(metadata.hierarchicalRootRecordID == nil && metadata.rootRecord == nil)
            let zoneID = try await guest.accept(metadata).recordID.zoneID
            let shared = guest.sharedCloudDatabase
            let feed = try await shared.changes(in: zoneID)
            #expect(feed.names == ["list", "milk", "note", CKRecordNameZoneWideShare])
            let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "free", zoneID: zoneID))
            try await shared.saveAll([record], deleting: [CKRecord.ID(recordName: "note", zoneID: zoneID)])
            let next = try await shared.changes(in: zoneID, since: feed.token)
            #expect(next.names == ["free"] && next.deleted == ["note"])
            #expect(try await shared.recordZone(for: zoneID).share?.recordID.recordName == CKRecordNameZoneWideShare)
        }
    }

    @Test func `a feed of many pages has every record once`() async throws {
        try await withShared { shared in
            let zoneID = shared.list.zoneID
            for start in stride(from: 0, to: 600, by: 300) {
                try await shared.own.saveAll(
                    (start..<start + 300).map { number in
                        let record = CKRecord(
                            recordType: "Item", recordID: CKRecord.ID(recordName: "r\(number)", zoneID: zoneID))
                        record.setParent(shared.list.root.recordID)
                        return record
                    })
            }
            let feed = try await shared.database.changes(in: shared.zoneID)
            #expect(feed.names.count == 603)
        }
    }
}
