import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Encrypted values with a server in a process of its own, which has no keys, and `nephos keys` in others.
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
            identifier: Self.identifier, service: HTTPService(Self.identifier, environment))
    }

    /// Runs `nephos keys` on a device.
    private func keys(
        _ account: String, _ device: String, _ port: UInt16, _ arguments: String...
    ) async throws -> Finished {
        try await StartedNephos(
            ["keys"] + arguments + [
                "--url", "http://127.0.0.1:\(port)", "--container", Self.identifier, "--token", "dev:\(account)",
            ], environment: ["NEPHOS_KEYS": folder(device).path]
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

    @Test func `two devices have the values; one is lost, and a third comes by the recovery key`() async throws {
        let (server, port) = try await startServer()
        let phone = try app("mei", "phone", port)
        _ = try await phone.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        try await save([Self.record("a", "first")], in: phone.privateCloudDatabase)
        let laptop = try app("mei", "laptop", port)
        #expect(
            await code { _ = try await text(laptop.privateCloudDatabase, "a", in: Self.zoneID) }
                == .accountTemporarilyUnavailable)
        let approval = try word(try await keys("mei", "laptop", port, "code"))
        _ = try word(try await keys("mei", "phone", port, "approve", approval))
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
        _ = try word(try await keys("mei", "desktop", port, "recover", recovery))
        #expect(try await text(desktop, "a", in: Self.zoneID) == "second")
        #expect(try await keys("mei", "desktop", port, "reset").status != 0, "it asks first")
        _ = try word(try await keys("mei", "desktop", port, "reset", "--yes"))
        #expect(await code { _ = try await text(desktop, "a", in: Self.zoneID) } == .zoneNotFound)
        #expect(try await server.stop().status == 0)
    }

    // MARK: Invitations

    @Test func `every kind of invitation is accepted while the owner is away`() async throws {
        let (server, port) = try await startServer()
        // Has keys before it is invited.
        _ = try await app("ana", "ana", port).session.keyRing.device()
        var urls: [String: URL] = [:]
        do {
            let owner = try app("mei", "phone", port)
            _ = try await owner.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
            let lists = ["known", "unknown", "once", "public"]
            for list in lists {
                let root = Self.record(list, "list \(list)")
                try await save(
                    [root, Self.record("item-\(list)", "item \(list)", parent: list)], in: owner.privateCloudDatabase)
                let share = CKShare(rootRecord: root)
                var once: CKShare.Participant?
                switch list {
                case "public": share.publicPermission = .readOnly
                case "once":
                    let participant = CKShare.Participant.oneTimeURLParticipant()
                    share.addParticipant(participant)
                    once = participant
                default:
                    let name = list == "known" ? "ana" : "bob"
                    share.addParticipant(try await owner.shareParticipant(forEmailAddress: "\(name)@localhost"))
                }
                try await save([root, share], in: owner.privateCloudDatabase)
                urls[list] = once.flatMap { share.oneTimeURL(for: $0.participantID) } ?? share.url
            }
        }
        for (list, guest) in ["known": "ana", "unknown": "bob", "once": "carol", "public": "dave"] {
            let container = try app(guest, guest, port)
            let url = try #require(urls[list])
            #expect(ShareLink(fragment: url.fragment) != nil)
            let share = try await container.accept(
                try await container.shareMetadata(for: list == "known" ? withoutFragment(url) : url))
            let shared = container.sharedCloudDatabase
            #expect(try await text(shared, "item-\(list)", in: share.recordID.zoneID) == "item \(list)")
            for other in urls.keys where other != list {
                #expect(
                    await code { _ = try await text(shared, "item-\(other)", in: share.recordID.zoneID) }
                        == .unknownItem)
            }
        }
        #expect(try await server.stop().status == 0)
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
        var found: Set<[UInt8]> = []
        for file in files {
            let bytes = [UInt8](file)
            var last: UInt64 = 0
            for (index, byte) in bytes.enumerated() {
                last = last << 8 | UInt64(byte)
                guard index >= 7, let candidates = byBeginning[last] else { continue }
                for needle in candidates where bytes[(index - 7)...].starts(with: needle) { found.insert(needle) }
            }
        }
        return found
    }

    @Test(arguments: [true, false])
    func `neither store nor traffic nor log has a thousand values, a part of one, or a key`(
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
        let secrets = try secretsOfDevice("phone")
        #expect(secrets.count >= 3)
        let never = (parts + secrets).map { Array(Data($0).base64EncodedString().utf8) } + secrets
        let all = found(whole + parts + never, in: files)
        #expect(all.intersection(whole).count == (encrypts ? 0 : 1000))
        #expect(all.intersection(parts).count == (encrypts ? 0 : 1000))
        #expect(all.isDisjoint(with: never))
    }

    /// What a device keeps to itself.
    private func secretsOfDevice(_ device: String) throws -> [[UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder(device).path)
        let name = try #require(names.first { $0.hasSuffix(".json") })
        let contents = try JSONDecoder().decode(
            KeyFile.Contents.self, from: Data(contentsOf: folder(device).appendingPathComponent(name)))
        let secrets = contents.secrets
        return ([secrets.signingSeed, secrets.boxSecretKey] + secrets.accountKeys.values).map { [UInt8]($0) }
    }
}
