import CloudKit
import NephosTesting
import Testing

/// Random hierarchies, participants, permissions, moves, joins, departures and deletions: after each step every account
/// reads exactly the records of a plain model, a device that follows the feeds holds exactly these, and subscribers are
/// notified of the changes they see and of no others. `NEPHOS_FUZZ_STEPS=1000` takes so many steps with each seed.
@Suite struct SharingModelTests {
    private static let steps = ProcessInfo.processInfo.environment["NEPHOS_FUZZ_STEPS"].flatMap { Int($0) }

    @Test(arguments: [11, 12, 13, 14, 15, 16, 17, 18] as [UInt64])
    func `every account sees the model's records`(_ seed: UInt64) async throws {
        try await Cloud.with(.inProcess) { try await Run(seed, $0).run(steps: Self.steps ?? 260) }
    }

    @Test(arguments: [31] as [UInt64])
    func `every account sees the model's records, over HTTP`(_ seed: UInt64) async throws {
        try await Cloud.with(.http) { try await Run(seed, $0).run(steps: Self.steps ?? 100) }
    }

    private final class Run {
        let seed: UInt64
        let cloud: Cloud
        var random: SeededGenerator
        var model = SharingModel(accounts: ["alice", "bob", "carol", "dave"])
        let owners = ["alice", "bob"]
        var containers: [String: CKContainer] = [:]
        var devices: [String: SharedDevice] = [:]
        var listeners: [String: SharingListener] = [:]
        var forecast = NotificationForecast()
        /// Shares that a step saved as they were.
        var saved: Set<String> = []
        var userNames: [String: String] = [:]
        var urls: [String: URL] = [:]
        var count = 0
        var log: [String] = []

        init(_ seed: UInt64, _ cloud: Cloud) {
            self.seed = seed
            self.cloud = cloud
            random = SeededGenerator(seed: seed)
        }

        func run(steps: Int) async throws {
            for account in model.accounts {
                let container = cloud.container(account)
                containers[account] = container
                devices[account] = SharedDevice(container)
                listeners[account] = try await SharingListener(
                    cloud.container(account), other: cloud.container(account))
                userNames[account] = try await container.userRecordID().recordName
            }
            for owner in owners {
                try await own(owner).save(CKRecordZone(zoneID: CKRecordZone.ID(zoneName: "Z")))
            }
            for step in 0..<steps {
                do {
                    let before = model
                    saved = []
                    try await self.step()
                    forecast.add(before, model, saved: saved)
                    if Int.random(in: 0..<4, using: &random) == 0 { try await expectNotifications() }
                    try await expectModel()
                } catch {
                    Issue.record("seed \(seed), step \(step): \(error)\n\(log.suffix(12).joined(separator: "\n"))")
                    return
                }
                if hasFailed { return }
            }
        }

        var hasFailed = false

        func container(_ account: String) -> CKContainer { containers[account] ?? cloud.container(account) }

        func own(_ account: String) -> CKDatabase { container(account).privateCloudDatabase }

        func database(_ account: String, of owner: String) -> CKDatabase {
            account == owner ? own(account) : container(account).sharedCloudDatabase
        }

        func id(_ name: String, _ account: String, of owner: String) -> CKRecord.ID {
            let zoneID = CKRecordZone.ID(
                zoneName: "Z", ownerName: account == owner ? CKCurrentUserDefaultName : userNames[owner, default: ""])
            return CKRecord.ID(recordName: name, zoneID: zoneID)
        }

        func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }
        func pick<Element>(of elements: Element...) -> Element {
            elements[Int.random(in: elements.indices, using: &random)]
        }
        var account: String { pick(model.accounts) ?? "" }
        var owner: String { pick(owners) ?? "" }
        func recordNames(_ owner: String) -> [String] {
            model.records.filter { $0.value.owner == owner }.map(\.key).sorted()
        }

        // MARK: Steps

        func step() async throws {
            switch Int.random(in: 0..<16, using: &random) {
            case 0, 1, 2, 3: try await create()
            case 4, 5: try await change()
            case 6, 7: try await move()
            case 8: try await delete()
            case 9, 10: try await share()
            case 11: try await unshare()
            case 12, 13: try await join()
            case 14: try await leave()
            default: try await changeParticipants()
            }
        }

        func create() async throws {
            let (owner, account) = (owner, account)
            let parent = pick(recordNames(owner) + ["", ""]).flatMap { $0.isEmpty ? nil : $0 }
            count += 1
            let name = "r\(count)"
            let record = CKRecord(recordType: "Item", recordID: id(name, account, of: owner))
            record["title"] = "v\(count)"
            if let parent { record.setParent(id(parent, account, of: owner)) }
            let isAllowed: Bool
            if account == owner {
                isAllowed = true
            } else if let whole = model.zoneShare(owner) {
                isAllowed = model.permission(account, in: whole) == .readWrite
            } else {
                isAllowed = parent.map { model.mayWrite(account, $0) } ?? false
            }
            try await attempt("\(account) creates \(name) under \(parent ?? "-") of \(owner)", isAllowed) {
                try await self.database(account, of: owner).saveAll([record])
                self.model.records[name] = .init(owner: owner, parent: parent, title: "v\(self.count)")
            }
        }

        func change() async throws {
            let (owner, account) = (owner, account)
            guard let name = pick(recordNames(owner)) else { return }
            count += 1
            let title = "v\(count)"
            try await attempt("\(account) changes \(name) of \(owner)", model.mayWrite(account, name)) {
                let database = self.database(account, of: owner)
                let record = try await database.record(for: self.id(name, account, of: owner))
                record["title"] = title
                try await database.saveAll([record])
                self.model.records[name]?.title = title
            }
        }

        func move() async throws {
            let (owner, account) = (owner, account)
            guard let name = pick(recordNames(owner)) else { return }
            let parent = pick(recordNames(owner) + [""]).flatMap { $0.isEmpty ? nil : $0 }
            guard parent != model.records[name]?.parent else { return }
            let isCircle = parent.map { model.ancestors(of: $0).contains(name) } ?? false
            let isAllowed = !isCircle && mayMove(account, name, to: parent)
            try await attempt("\(account) moves \(name) under \(parent ?? "-") of \(owner)", isAllowed) {
                let database = self.database(account, of: owner)
                let record = try await database.record(for: self.id(name, account, of: owner))
                if let parent { record.setParent(self.id(parent, account, of: owner)) } else { record.parent = nil }
                try await database.saveAll([record])
                let isGuestsRoot = account != owner && self.model.share(ofRoot: name) != nil
                if !isGuestsRoot { self.model.records[name]?.parent = parent }
                self.saved.formUnion([self.model.share(over: name)].compactMap { $0 })
            }
        }

        func mayMove(_ account: String, _ name: String, to parent: String?) -> Bool {
            guard model.mayWrite(account, name), let record = model.records[name] else { return false }
            var moved = model
            moved.records[name]?.parent = parent
            if account != record.owner {
                if model.zoneShare(record.owner) != nil { return true }
                // The root's own parent is not the participant's, who sees none to clear. Nothing leaves its share.
                if model.share(ofRoot: name) != nil { return parent == nil }
                return moved.share(over: name) == model.share(over: name)
            }
            if model.zoneShare(record.owner) != nil { return true }
            guard let parent, let over = model.share(over: parent) else { return true }
            return ([name] + model.descendants(of: name)).allSatisfy { below in
                model.share(ofRoot: below).map { $0 == over } ?? true
            }
        }

        func delete() async throws {
            let (owner, account) = (owner, account)
            guard let name = pick(recordNames(owner)) else { return }
            let isRoot = model.share(ofRoot: name) != nil
            let isHeld = !model.children(of: name).isEmpty
            // Something that is not there is gone as well.
            guard model.mayRead(account, name) else { return }
            let isAllowed = !isHeld && model.mayWrite(account, name) && (account == owner || !isRoot)
            try await attempt("\(account) deletes \(name) of \(owner)", isAllowed) {
                try await self.database(account, of: owner).saveAll([], deleting: [self.id(name, account, of: owner)])
                self.model.records[name] = nil
                if let share = self.model.share(ofRoot: name) { self.model.shares[share] = nil }
            }
        }

        func share() async throws {
            let owner = owner
            if Int.random(in: 0..<6, using: &random) == 0 { return try await shareZone(owner) }
            guard let name = pick(recordNames(owner)) else { return }
            let related = model.ancestors(of: name) + model.descendants(of: name)
            let isAllowed =
                model.zoneShare(owner) == nil && related.allSatisfy { model.share(ofRoot: $0) == nil }
            let database = own(owner)
            let root = try await database.record(for: id(name, owner, of: owner))
            count += 1
            let share = CKShare(
                rootRecord: root,
                shareID: CKRecord.ID(recordName: "s\(count)", zoneID: CKRecordZone.ID(zoneName: "Z")))
            try await save(share, [root], owner, root: name, isAllowed)
        }

        func shareZone(_ owner: String) async throws {
            let isAllowed = !model.shares.contains { $0.value.owner == owner }
            let share = CKShare(recordZoneID: CKRecordZone.ID(zoneName: "Z"))
            try await save(share, [], owner, root: nil, isAllowed)
        }

        func save(
            _ share: CKShare, _ others: [CKRecord], _ owner: String, root: String?, _ isAllowed: Bool
        ) async throws {
            var made = SharingModel.Share(owner: owner, root: root)
            if Bool.random(using: &random) {
                made.publicPermission = pick(of: .readOnly, .readWrite)
                share.publicPermission = made.publicPermission
            } else {
                for guest in model.accounts where guest != owner && Bool.random(using: &random) {
                    let permission: CKShare.ParticipantPermission = pick(of: .readOnly, .readWrite)
                    let participant = try await container(owner).shareParticipant(
                        forEmailAddress: "\(guest)@localhost")
                    participant.permission = permission
                    share.addParticipant(participant)
                    made.invited[guest] = permission
                }
            }
            let name = share.recordID.recordName
            try await attempt("\(owner) shares \(root ?? "the zone") by \(name) \(made)", isAllowed) {
                try await self.own(owner).saveAll(others + [share])
                self.model.shares[self.key(name, owner)] = made
                self.urls[self.key(name, owner)] = share.url
            }
        }

        /// Shares of whole zones have the same name in each.
        func key(_ name: String, _ owner: String) -> String {
            name == CKRecordNameZoneWideShare ? "\(name) \(owner)" : name
        }

        func recordName(_ key: String) -> String { String(key.split(separator: " ")[0]) }

        func unshare() async throws {
            guard let (key, share) = pick(model.shares.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }) else {
                return
            }
            try await attempt("\(share.owner) ends \(key)", true) {
                try await self.own(share.owner).saveAll(
                    [], deleting: [self.id(self.recordName(key), share.owner, of: share.owner)])
                self.model.shares[key] = nil
            }
        }

        func join() async throws {
            let account = account
            guard let (key, share) = pick(model.shares.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
                share.owner != account
            else { return }
            let isAllowed = share.invited[account] != nil || share.publicPermission != .none
            try await attempt("\(account) joins \(key)", isAllowed) {
                try await self.container(account).join(self.urls[key])
                self.model.shares[key]?.joined.insert(account)
            }
        }

        func leave() async throws {
            let account = account
            let joined = model.shares.filter { $0.value.joined.contains(account) }.sorted { $0.key < $1.key }
            guard let (key, share) = pick(joined.map { ($0.key, $0.value) }),
                model.permission(account, in: key) != .none
            else { return }
            try await attempt("\(account) leaves \(key)", true) {
                try await self.database(account, of: share.owner).saveAll(
                    [], deleting: [self.id(self.recordName(key), account, of: share.owner)])
                self.model.shares[key]?.joined.remove(account)
                self.model.shares[key]?.invited[account] = nil
            }
        }

        func changeParticipants() async throws {
            guard let (key, share) = pick(model.shares.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }) else {
                return
            }
            let id = id(recordName(key), share.owner, of: share.owner)
            guard let record = try await own(share.owner).record(for: id) as? CKShare else { return }
            var changed = share
            if Int.random(in: 0..<3, using: &random) == 0 {
                let permission: CKShare.ParticipantPermission = pick(of: .none, .readOnly, .readWrite)
                record.publicPermission = permission
                if permission != share.publicPermission {
                    if permission == .none {
                        changed.joined = changed.joined.filter { changed.invited[$0] != nil }
                    } else {
                        changed.invited = changed.invited.filter { changed.joined.contains($0.key) }
                    }
                }
                changed.publicPermission = permission
            } else {
                guard share.publicPermission == .none,
                    let part = pick(record.participants.filter { $0.role == .privateUser })
                else { return }
                let name = part.userIdentity.userRecordID?.recordName
                guard let guest = model.accounts.first(where: { userNames[$0] == name }) else { return }
                if Bool.random(using: &random) {
                    record.removeParticipant(part)
                    changed.invited[guest] = nil
                    changed.joined.remove(guest)
                } else {
                    part.permission = pick(of: .none, .readOnly, .readWrite)
                    changed.invited[guest] = part.permission
                }
            }
            let result = changed
            try await attempt("\(share.owner) changes \(key) to \(result)", true) {
                try await self.own(share.owner).saveAll([record])
                self.model.shares[key] = result
                self.saved.insert(key)
            }
        }

        /// Does something that has to succeed, or has to fail and change nothing.
        func attempt(_ what: String, _ isAllowed: Bool, _ body: () async throws -> Void) async throws {
            log.append("\(what)\(isAllowed ? "" : " (refused)")")
            let before = model
            do {
                try await body()
                guard isAllowed else {
                    fail("it was not refused")
                    return
                }
            } catch let error as CKError {
                model = before
                if isAllowed { fail("\(error)") }
            }
        }

        func fail(_ what: String) {
            hasFailed = true
            Issue.record("seed \(seed): \(log.suffix(25).joined(separator: "\n"))\n\(what)")
        }

        // MARK: Comparison

        func expectModel() async throws {
            for account in model.accounts {
                guard let device = devices[account] else { continue }
                // Not after each step, so that feeds have several changes to tell.
                if Int.random(in: 0..<3, using: &random) > 0 { continue }
                try await device.follow()
                let zones = await device.zones
                for owner in owners where owner != account {
                    let expected = Dictionary(
                        uniqueKeysWithValues: model.shared(account, by: owner).map { (recordName($0.key), $0.value) })
                    let zoneID = CKRecordZone.ID(zoneName: "Z", ownerName: userNames[owner, default: ""])
                    let found = zones[zoneID] ?? [:]
                    if found != expected {
                        fail(
                            "\(account) of \(owner) has\n\(found.sorted { $0.key < $1.key })\nnot\n\(expected.sorted { $0.key < $1.key })"
                        )
                        return
                    }
                    try await expectReads(account, owner, expected)
                }
            }
        }

        /// Since it was compared last, who sees what changed was notified, and who takes part in nothing of it was not.
        func expectNotifications() async throws {
            await cloud.settle()
            for account in model.accounts {
                guard let listener = listeners[account] else { continue }
                let hasHeard = try await listener.hasHeard()
                if forecast.required.contains(account), !hasHeard { fail("\(account) was not notified") }
                if hasHeard, !forecast.possible.contains(account) { fail("\(account) was notified") }
            }
            forecast = NotificationForecast()
        }

        /// What is fetched by name is what the feed brought.
        func expectReads(_ account: String, _ owner: String, _ expected: [String: String]) async throws {
            let names = recordNames(owner)
            guard !names.isEmpty else { return }
            let database = container(account).sharedCloudDatabase
            let results = try await database.records(for: names.map { id($0, account, of: owner) })
            for (id, result) in results {
                let title = try? result.get()["title"] as? String
                if title != expected[id.recordName] {
                    fail("\(account) reads \(id.recordName) of \(owner) as \(title ?? "nothing")")
                }
            }
        }
    }
}
