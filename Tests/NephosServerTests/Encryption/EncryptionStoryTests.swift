import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Encrypted values with a server without keys in its own process, and `nephos keys` in others.
@Suite final class EncryptionStoryTests {
    private static let identifier = "iCloud.org.example.Story"
    private static let zoneID = CKRecordZone.ID(zoneName: "Lists")
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("story-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: directory) }

    private func startServer() async throws -> (StartedNephos, UInt16) {
        let server = try StartedNephos([
            "dev", "--require-approval", "--data", directory.appendingPathComponent("data").path, "--port", "0",
        ])
        return (server, try readyPort(try await server.readyLine()))
    }

    private func folder(_ device: String) -> URL { directory.appendingPathComponent(device) }

    /// An app on a device, which has its keys in a directory of its own.
    private func app(_ account: String, _ device: String, _ port: UInt16) throws -> CKContainer {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let environment = CloudKitEnvironment(
            url: url, account: .token("dev:\(account)"), keyDirectory: folder(device))
        return CKContainer(
            identifier: Self.identifier, service: environment.service(of: Self.identifier))
    }

    /// Runs `nephos keys` on a device, which reads a secret from standard input.
    private func keys(
        _ account: String, _ device: String, _ port: UInt16, _ arguments: String..., secret: String = ""
    ) async throws -> Finished {
        try await StartedNephos(
            ["keys"] + arguments + [
                "--url", "http://127.0.0.1:\(port)", "--container", Self.identifier, "--account", account,
            ], environment: ["NEPHOS_KEYS": folder(device).path], input: typed(secret)
        ).finish()
    }

    private func word(_ finished: Finished) throws -> String {
        try #require(finished.status == 0, "\(finished.errors)")
        return finished.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func record(_ name: String, _ text: String, parent: String? = nil) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record.encryptedValues["text"] = text
        if let parent {
            record.parent = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: parent, zoneID: zoneID), action: .none)
        }
        return record
    }

    private func text(_ database: CKDatabase, _ name: String, in zoneID: CKRecordZone.ID) async throws -> String? {
        try await database.record(for: CKRecord.ID(recordName: name, zoneID: zoneID)).encryptedValues["text"] as? String
    }

    private func save(_ records: [CKRecord], in database: CKDatabase) async throws {
        for result in try await database.modifyRecords(saving: records, deleting: []).saveResults.values {
            _ = try result.get()
        }
    }

    private func code(_ body: () async throws -> Void) async -> CKError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    // MARK: Devices

    @Test func `two devices read the values, and a third recovers them by the recovery key after a loss`() async throws
    {
        let (server, port) = try await startServer()
        let phone = try app("mei", "phone", port)
        _ = try await phone.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        try await save([Self.record("a", "first")], in: phone.privateCloudDatabase)
        let laptop = try app("mei", "laptop", port)
        #expect(
            await code { _ = try await text(laptop.privateCloudDatabase, "a", in: Self.zoneID) }
                == .accountTemporarilyUnavailable)
        let approval = try word(try await keys("mei", "laptop", port, "code"))
        _ = try word(try await keys("mei", "phone", port, "approve", secret: approval))
        #expect(try await text(laptop.privateCloudDatabase, "a", in: Self.zoneID) == "first")
        let recovery = try word(try await keys("mei", "laptop", port, "recovery"))
        let listed = try word(try await keys("mei", "laptop", port, "list")).split(separator: "\n")
        #expect(listed.count == 2)
        // The phone is lost.
        let lost = try #require(listed.first { !$0.contains("this device") })
        _ = try word(try await keys("mei", "laptop", port, "revoke", String(lost)))
        let after = try app("mei", "laptop", port).privateCloudDatabase
        let record = try await after.record(for: CKRecord.ID(recordName: "a", zoneID: Self.zoneID))
        record.encryptedValues["text"] = "second"
        try await save([record], in: after)
        let finder = try app("mei", "phone", port).privateCloudDatabase
        #expect(
            await code { _ = try await text(finder, "a", in: Self.zoneID) } == .accountTemporarilyUnavailable)
        // And so is the laptop.
        let desktop = try app("mei", "desktop", port).privateCloudDatabase
        _ = try word(try await keys("mei", "desktop", port, "recover", secret: recovery))
        #expect(try await text(desktop, "a", in: Self.zoneID) == "second")
        let checked = try await keys("mei", "desktop", port, "recover", secret: recovery)
        #expect(checked.status == 0 && checked.errors.contains("this device is on the list already"))
        let other = try await keys("mei", "desktop", port, "recover", secret: CarriedSecret.recoveryKey().text)
        #expect(other.status == 1 && other.errors.contains("another recovery key"), "\(other)")
        #expect(try await keys("mei", "desktop", port, "reset").status != 0, "it asks first")
        _ = try word(try await keys("mei", "desktop", port, "reset", "--yes"))
        #expect(await code { _ = try await text(desktop, "a", in: Self.zoneID) } == .zoneNotFound)
        let finished = try await server.stop()
        #expect(finished.status == 0)
        #expect((finished.output + finished.errors).contains("has no recovery key"), "until there is one")
    }

    /// What a fetch of a zone's changes brought, from a token as an app has kept it.
    private func changes(
        _ database: CKDatabase, in zoneID: CKRecordZone.ID, since token: CKServerChangeToken? = nil
    ) async throws -> (texts: [String: String], failed: [String: CKError.Code?], token: CKServerChangeToken) {
        let kept = try token.map { token in
            let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
            return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data))
        }
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: kept)
        var (texts, failed): ([String: String], [String: CKError.Code?]) = ([:], [:])
        for (recordID, result) in changes.modificationResultsByID {
            do {
                let record = try result.get().record
                if record is CKShare { continue }
                texts[recordID.recordName] = record.encryptedValues["text"] as? String ?? ""
            } catch {
                failed[recordID.recordName] = (error as? CKError)?.code
            }
        }
        return (texts, failed, changes.changeToken)
    }

    @Test func `a feed returns plain records, and the rest once the device is approved or the key arrives`()
        async throws
    {
        let (server, port) = try await startServer()
        let phone = try app("mei", "phone", port)
        let database = phone.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
        let root = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "list", zoneID: Self.zoneID))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readOnly
        try await save([root, share, Self.record("milk", "Milk", parent: "list")], in: database)
        // Another device of the account's.
        let laptop = try app("mei", "laptop", port)
        let first = try await changes(laptop.privateCloudDatabase, in: Self.zoneID)
        #expect(first.texts == ["list": ""] && first.failed == ["milk": .accountTemporarilyUnavailable])
        let approval = try word(try await keys("mei", "laptop", port, "code"))
        _ = try word(try await keys("mei", "phone", port, "approve", secret: approval))
        let again = try app("mei", "laptop", port)
        let second = try await changes(again.privateCloudDatabase, in: Self.zoneID, since: first.token)
        #expect(second.texts == ["milk": "Milk"] && second.failed.isEmpty)
        // Another account.
        let guest = try app("ana", "tablet", port)
        let url = withoutFragment(try #require(share.url))
        let zoneID = try await guest.accept(try await guest.shareMetadata(for: url)).recordID.zoneID
        let third = try await changes(guest.sharedCloudDatabase, in: zoneID)
        #expect(third.texts == ["list": ""] && third.failed == ["milk": .zoneBusy])
        _ = try await changes(database, in: Self.zoneID)
        let guestAgain = try app("ana", "tablet", port)
        let fourth = try await changes(guestAgain.sharedCloudDatabase, in: zoneID, since: third.token)
        #expect(fourth.texts == ["milk": "Milk"] && fourth.failed.isEmpty)
        #expect(try await server.stop().status == 0)
    }

    private enum Acceptance: CaseIterable { case beforeFirstValue, withoutFragment, withFragment }

    @Test(arguments: Acceptance.allCases)
    private func `a command-line acceptance gets the key by the URL, or at the owner's next sync`(
        acceptance: Acceptance
    ) async throws {
        let (server, port) = try await startServer()
        let owner = try app("mei", "phone", port).privateCloudDatabase
        _ = try await owner.save(CKRecordZone(zoneID: Self.zoneID))
        let root = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "list", zoneID: Self.zoneID))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        try await save([root, share], in: owner)
        func encrypt() async throws { try await save([Self.record("milk", "Milk", parent: "list")], in: owner) }
        if acceptance != .beforeFirstValue { try await encrypt() }
        let saved = try #require(try await owner.record(for: share.recordID) as? CKShare)
        let url = try #require(saved.url)
        #expect((url.fragment?.hasPrefix("k=") ?? false) == (acceptance != .beforeFirstValue))
        let accepted = try await StartedNephos(
            [
                "share", "accept", (acceptance == .withoutFragment ? withoutFragment(url) : url).absoluteString,
                "--account", "ana",
            ], environment: ["NEPHOS_KEYS": folder("tablet").path]
        ).finish()
        #expect(accepted.status == 0, "\(accepted)")
        if acceptance == .beforeFirstValue { try await encrypt() }
        let guest = try app("ana", "tablet", port).sharedCloudDatabase
        let zoneID = try #require(try await guest.allRecordZones().first).zoneID
        var fetched = try await changes(guest, in: zoneID)
        if acceptance != .withFragment {
            #expect(fetched.texts == ["list": ""] && fetched.failed == ["milk": .zoneBusy])
            _ = try await changes(owner, in: Self.zoneID)
            fetched = try await changes(guest, in: zoneID, since: fetched.token)
        }
        #expect(fetched.texts["milk"] == "Milk" && fetched.failed.isEmpty)
        #expect(try await text(guest, "milk", in: zoneID) == "Milk")
        #expect(try await server.stop().status == 0)
    }

    // MARK: Invitations

    /// The ways to join a share, and the joining account.
    private enum Invitation: String, CaseIterable {
        /// Has keys before it is invited; an account, and no keys; no account yet.
        case withKeys = "ana"
        case withoutKeys = "bob"
        case withoutAccount = "carol@example.org"
        case oneTime = "dave"
        case publicly = "erin"
        /// The whole zone.
        case zoneWide = "frank"

        var account: String { rawValue }
        var zoneID: CKRecordZone.ID {
            self == .zoneWide ? CKRecordZone.ID(zoneName: "Whole") : EncryptionStoryTests.zoneID
        }
    }

    @Test func `every kind of invitation is accepted while the owner is away`() async throws {
        let (server, port) = try await startServer()
        _ = try await app(Invitation.withKeys.account, "withKeys", port).session.account.keyRing.device()
        _ = try await app(Invitation.withoutKeys.account, "withoutKeys", port).userRecordID()
        var urls: [Invitation: URL] = [:]
        do {
            let owner = try app("mei", "phone", port)
            for zoneID in Set(Invitation.allCases.map(\.zoneID)) {
                _ = try await owner.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
            }
            for invitation in Invitation.allCases { urls[invitation] = try await invite(invitation, owner) }
        }
        // From here on the owner's device does nothing.
        for invitation in Invitation.allCases {
            let container = try app(invitation.account, "\(invitation)", port)
            let url = try #require(urls[invitation])
            #expect(ShareLink(fragment: url.fragment) != nil, "\(invitation)")
            // Who had keys needs none of the URL's.
            let used = invitation == .withKeys ? withoutFragment(url) : url
            let share = try await container.accept(try await container.shareMetadata(for: used))
            let (shared, zoneID) = (container.sharedCloudDatabase, share.recordID.zoneID)
            #expect(try await text(shared, "item \(invitation)", in: zoneID) == "text \(invitation)")
            for other in Invitation.allCases where other != invitation && other != .zoneWide {
                #expect(
                    await code { _ = try await text(shared, "item \(other)", in: zoneID) } == .unknownItem,
                    "\(invitation) \(other)")
            }
            // Another device of the account's, once it is approved, needs no URL any more.
            let second = try app(invitation.account, "\(invitation) 2", port)
            let approval = try word(try await keys(invitation.account, "\(invitation) 2", port, "code"))
            _ = try word(try await keys(invitation.account, "\(invitation)", port, "approve", secret: approval))
            #expect(
                try await text(second.sharedCloudDatabase, "item \(invitation)", in: zoneID) == "text \(invitation)")
        }
        #expect(try await server.stop().status == 0)
    }

    /// Shares a list of its own, or the zone.
    private func invite(_ invitation: Invitation, _ owner: CKContainer) async throws -> URL? {
        let database = owner.privateCloudDatabase
        func record(_ name: String, parent: String? = nil) -> CKRecord {
            let zoneID = invitation.zoneID
            let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            record.encryptedValues["text"] = "text \(invitation)"
            record.parent = parent.map {
                CKRecord.Reference(recordID: CKRecord.ID(recordName: $0, zoneID: zoneID), action: .none)
            }
            return record
        }
        let root = record("list \(invitation)")
        try await save([root, record("item \(invitation)", parent: root.recordID.recordName)], in: database)
        let share = invitation == .zoneWide ? CKShare(recordZoneID: invitation.zoneID) : CKShare(rootRecord: root)
        var once: CKShare.Participant?
        switch invitation {
        case .publicly: share.publicPermission = .readOnly
        case .oneTime:
            let participant = CKShare.Participant.oneTimeURLParticipant()
            share.addParticipant(participant)
            once = participant
        default:
            let address = invitation.account.contains("@") ? invitation.account : "\(invitation.account)@localhost"
            share.addParticipant(try await owner.shareParticipant(forEmailAddress: address))
        }
        try await save(invitation == .zoneWide ? [share] : [root, share], in: database)
        return once.flatMap { share.oneTimeURL(for: $0.participantID) } ?? share.url
    }

    private func withoutFragment(_ url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.fragment = nil
        return components?.url ?? url
    }

    // MARK: What the service has

    /// Passes bytes on to a server, and keeps what it saw of both directions in a file.
    private static let relay = """
        import asyncio, sys
        async def main(port, path):
            seen = open(path, "wb")
            async def pump(source, sink):
                while data := await source.read(65536):
                    seen.write(data); seen.flush()
                    sink.write(data)
                    await sink.drain()
                sink.close()
            async def handle(reader, writer):
                up, down = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(pump(reader, down), pump(up, writer), return_exceptions=True)
            server = await asyncio.start_server(handle, "127.0.0.1", 0)
            print(server.sockets[0].getsockname()[1], flush=True)
            await server.serve_forever()
        asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
        """

    /// Which of the needles are found in the files; each has eight bytes or more.
    private func found(_ needles: [[UInt8]], in files: [Data]) -> Set<[UInt8]> {
        func word(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
        let byBeginning = Dictionary(grouping: needles, by: word)
        // By its first two bytes most of what is searched is no beginning.
        var beginnings = [Bool](repeating: false, count: 1 << 16)
        for needle in needles { beginnings[Int(needle[0]) << 8 | Int(needle[1])] = true }
        var found: Set<[UInt8]> = []
        for file in files {
            file.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
                beginnings.withUnsafeBufferPointer { beginnings in
                    var (last, index) = (UInt64(0), 0)
                    while index < bytes.count {
                        last = last << 8 | UInt64(bytes[index])
                        index += 1
                        guard beginnings[Int(last >> 48)], index >= 8, let candidates = byBeginning[last] else {
                            continue
                        }
                        for needle in candidates where bytes[(index - 8)...].starts(with: needle) {
                            found.insert(needle)
                        }
                    }
                }
            }
        }
        return found
    }

    /// A file of the kernel's: it comes in pieces, and says that it has no size.
    private func whole(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while true {
            let count = read(file, &piece, piece.count)
            if count <= 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece.prefix(count)
        }
    }

    /// What a core dump of a process would have: its memory that can be written. Nil where the system does not let us read it.
    private func memory(of process: Int32) -> [Data]? {
        let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { return nil }
        defer { close(memory) }
        var (regions, region): ([Data], Range<Int>?) = ([], nil)
        for line in whole("/proc/\(process)/smaps").split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            if words.count > 1, words[1].count == 4, words[0].contains("-") {
                let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
                region = words[1].hasPrefix("rw") && ends.count == 2 ? ends[0]..<ends[1] : nil
            } else if words.first == "Rss:", words.count > 1, words[1] != "0", let known = region {
                var data = Data(count: known.count)
                let count = data.withUnsafeMutableBytes {
                    pread(memory, $0.baseAddress, $0.count, off_t(known.lowerBound))
                }
                if count > 0 { regions.append(data.prefix(count)) }
                region = nil
            }
        }
        return regions.isEmpty ? nil : regions
    }

    @Test(arguments: [true, false])
    func `store, traffic, log and core dump contain no part of a value, a key or a URL's fragment`(
        encrypts: Bool
    ) async throws {
        let (server, port) = try await startServer()
        let (relay, output) = (Process(), Pipe())
        let traffic = directory.appendingPathComponent("traffic")
        relay.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        relay.arguments = ["-c", Self.relay, "\(port)", traffic.path]
        relay.standardOutput = output
        try relay.run()
        // Not SIGTERM, which a child may have inherited blocked: a relay that is left keeps the test run's pipes open.
        defer { kill(relay.processIdentifier, SIGKILL) }
        let line = try await offThePool { String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) }
        let through = try #require(UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines)))
        let app = try app("mei", "phone", through)
        _ = try await app.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        let texts = (0..<1000).map { _ in UUID().uuidString }
        let records = (0..<100).map { number in
            let record = CKRecord(
                recordType: "Item", recordID: CKRecord.ID(recordName: "n\(number)", zoneID: Self.zoneID))
            for field in 0..<10 {
                let text = texts[number * 10 + field]
                if encrypts { record.encryptedValues["f\(field)"] = text } else { record["f\(field)"] = text }
            }
            return record
        }
        try await save(records, in: app.privateCloudDatabase)
        if !encrypts { try await save([Self.record("e", "other")], in: app.privateCloudDatabase) }
        // Another time, as another process does.
        let again = try self.app("mei", "phone", through).privateCloudDatabase
        let read = try await again.record(for: CKRecord.ID(recordName: "n7", zoneID: Self.zoneID))
        #expect((encrypts ? read.encryptedValues["f3"] : read["f3"]) as? String == texts[73])
        let secrets = try await secrets(of: app, "phone", sharing: records[0])
        let core = memory(of: server.process.processIdentifier)
        if core == nil { print("The memory of a child process cannot be read here: no core is searched") }
        let finished = try await server.stop()
        var files = [try Data(contentsOf: traffic), Data(finished.output.utf8), Data(finished.errors.utf8)]
        let stored = try FileManager.default.subpathsOfDirectory(
            atPath: directory.appendingPathComponent("data").path)
        for path in stored {
            let url = directory.appendingPathComponent("data/" + path)
            if let data = try? Data(contentsOf: url, options: .mappedIfSafe) { files.append(data) }
        }
        let whole = texts.map { Array($0.utf8) }
        let parts = texts.map { Array($0.utf8.dropFirst(24)) }
        let never = (parts + secrets).map { Array(Data($0).base64EncodedString().utf8) } + secrets
        let all = found(whole + parts + never, in: files)
        #expect(all.intersection(whole).count == (encrypts ? 0 : 1000))
        #expect(all.intersection(parts).count == (encrypts ? 0 : 1000))
        #expect(all.isDisjoint(with: never))
        let inCore = found(whole + parts + never, in: core ?? [])
        #expect(inCore.isDisjoint(with: never))
        if encrypts {
            #expect(inCore.isEmpty)
        } else if core != nil {
            #expect(inCore.intersection(whole).count > 100, "of the texts of the last requests")
        }
    }

    /// The keys of a device, of the zone, of a share and of its records, and what the share's URL has in its fragment.
    private func secrets(of app: CKContainer, _ device: String, sharing root: CKRecord) async throws -> [[UInt8]] {
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        try await save([root, share], in: app.privateCloudDatabase)
        let fragment = try #require(share.url?.fragment)
        var secrets = try secretsOfDevice(device) + [Array(fragment.utf8)]
        secrets.append(try #require(ShareLink(fragment: fragment)).secret.bytes)
        let zone = KeyZone(Self.zoneID, .private)
        for group in ["", share.recordID.recordName] {
            let (_, keys) = try await app.session.account.keyRing.keys(
                of: .init(zone: zone, group: group), making: false)
            secrets += keys.keys.values.map(\.bytes)
        }
        let names = Dictionary(uniqueKeysWithValues: ["e", "n0", "n7"].map { ($0, Set<[UInt8]>()) })
        let records = try await app.session.account.keyRing.keys(ofRecords: names, in: zone)
        secrets += records.keys.values.flatMap { $0 }.map(\.key.key.bytes)
        #expect(secrets.count >= 8)
        return secrets
    }

    /// What a device keeps to itself.
    private func secretsOfDevice(_ device: String) throws -> [[UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder(device).path)
        let name = try #require(names.first { $0.hasSuffix(".json") })
        let contents = try JSONDecoder().decode(
            KeptKeys.Contents.self, from: Data(contentsOf: folder(device).appendingPathComponent(name)))
        let secrets = contents.secrets
        return ([secrets.signingSeed, secrets.boxSecretKey] + secrets.accountKeys.values).map { [UInt8]($0) }
    }
}
