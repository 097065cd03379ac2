import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// People who used `nephos dev` go on with `nephos serve` over the same data.
@Suite struct AdoptionStoryTests {
    private static let (lists, other) = (StartedProduction.container, "iCloud.org.example.Other")
    private static let zoneID = CKRecordZone.ID(zoneName: "Lists")
    private static let names = [
        "mei": "mei@example.org", "bob": "bob@example.org", "zoe": "zoe@example.org",
    ]

    /// What the apps have from before.
    private struct Before {
        var users: [String: CKRecord.ID] = [:]
        var url: URL
        /// The share's zone, as bob names it.
        var sharedZone: CKRecordZone.ID
        var token: CKServerChangeToken
        var sharedToken: CKServerChangeToken
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

    private static func text(
        _ database: CKDatabase, _ name: String, in zoneID: CKRecordZone.ID = zoneID
    ) async throws -> String? {
        try await database.record(for: CKRecord.ID(recordName: name, zoneID: zoneID)).encryptedValues["text"] as? String
    }

    private static func save(_ records: CKRecord..., to database: CKDatabase) async throws {
        for result in try await database.modifyRecords(saving: records, deleting: []).saveResults.values {
            _ = try result.get()
        }
    }

    private static func changes(
        _ database: CKDatabase, in zoneID: CKRecordZone.ID, since token: CKServerChangeToken? = nil
    ) async throws -> (texts: [String: String?], token: CKServerChangeToken) {
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
        let records = try changes.modificationResultsByID.values.map { try $0.get().record }
        let texts = records.filter { !($0 is CKShare) }.map {
            ($0.recordID.recordName, $0.encryptedValues["text"] as? String)
        }
        return (Dictionary(uniqueKeysWithValues: texts), changes.changeToken)
    }

    // MARK: Before

    private func app(
        _ account: String, _ port: UInt16, of container: String = lists,
        in environment: CloudKitEnvironment.Name = .development
    ) throws -> CKContainer {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let environment = CloudKitEnvironment(url: url, account: .token("dev:\(account)"), name: environment)
        return CKContainer(identifier: container, service: environment.service(of: container))
    }

    /// Two containers with two environments, three accounts, a share that bob accepted and zoe did not.
    private func useDev(_ data: String) async throws -> Before {
        let server = try StartedNephos(["dev", "--data", data, "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        let (mei, bob) = (try app("mei", port), try app("bob", port))
        for environment in [CloudKitEnvironment.Name.development, .production] {
            for container in [Self.lists, Self.other] {
                let database = try app("mei", port, of: container, in: environment).privateCloudDatabase
                _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
            }
        }
        _ = try await app("zoe", port, of: Self.other).privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
        try await Self.save(Self.record("a", "elsewhere"), to: app("mei", port, of: Self.other).privateCloudDatabase)
        _ = try await mei.privateCloudDatabase.save(
            CKRecordZoneSubscription(zoneID: Self.zoneID, subscriptionID: "lists"))
        let list = Self.record("list", "groceries")
        let share = CKShare(rootRecord: list)
        _ = try await bob.userRecordID()
        for address in ["bob@localhost", "zoe@localhost"] {
            let participant = try await mei.shareParticipant(forEmailAddress: address)
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        try await Self.save(list, share, Self.record("milk", "2 litres", parent: "list"), to: mei.privateCloudDatabase)
        let url = try #require((try await mei.privateCloudDatabase.record(for: share.recordID) as? CKShare)?.url)
        let zone = try await bob.accept(try await bob.shareMetadata(for: url)).recordID.zoneID
        #expect(try await Self.text(bob.sharedCloudDatabase, "milk", in: zone) == "2 litres")
        var before = Before(
            url: url, sharedZone: zone,
            token: try await Self.changes(mei.privateCloudDatabase, in: Self.zoneID).token,
            sharedToken: try await Self.changes(bob.sharedCloudDatabase, in: zone).token)
        before.users = ["mei": try await mei.userRecordID(), "bob": try await bob.userRecordID()]
        #expect(try await server.stop().status == 0)
        return before
    }

    // MARK: Adoption

    /// Whether a file of the data has what the stored secrets of a device begin with.
    private func hasKeptKeys(_ data: String) throws -> Bool {
        let files = try FileManager.default.subpathsOfDirectory(atPath: data).map { "\(data)/\($0)" }
        return try files.contains { path in
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            return try !isDirectory.boolValue
                && Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data("signingSeed".utf8)) != nil
        }
    }

    private func run(_ arguments: String..., data: String) async throws -> Finished {
        try await StartedNephos(arguments + ["--data", data]).finish()
    }

    private func adopt(_ data: String, in directory: URL) async throws {
        let names = directory.appendingPathComponent("names")
        try Data(Self.names.map { "\($0) = \($1)\n" }.joined().utf8).write(to: names)
        let keys = directory.appendingPathComponent("recovery").path
        let refused = try await run("serve", "--url", "https://a.org", "--listen", "127.0.0.1:0", data: data)
        #expect(refused.status == 1 && refused.errors.contains("nephos accounts adopt"), "\(refused.errors)")
        let without = try await run("accounts", "adopt", "--names", names.path, "--yes", data: data)
        #expect(without.status == 1 && without.errors.contains("--recovery-keys DIR"), "\(without.errors)")
        let plan = try await run(
            "accounts", "adopt", "--names", names.path, "--recovery-keys", keys, "--dry-run", data: data)
        #expect(plan.status == 0 && plan.output.contains("mei@example.org ('mei'), with a recovery key"))
        #expect(!FileManager.default.fileExists(atPath: keys), "a dry run writes nothing")
        #expect(try hasKeptKeys(data))
        // An earlier run that was interrupted wrote a key before it changed anything.
        try FileManager.default.createDirectory(
            atPath: keys, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let key = Data((CarriedSecret.recoveryKey().text + "\n").utf8)
        #expect(
            FileManager.default.createFile(
                atPath: "\(keys)/bob@example.org.txt", contents: key, attributes: [.posixPermissions: 0o600]))
        let nobody = try await run(
            "accounts", "adopt", "--names", names.path, "--recovery-keys", keys, "--developer", "nobody", "--yes",
            data: data)
        #expect(nobody.status == 1 && nobody.errors.contains("'nobody'"), "\(nobody.errors)")
        let adopted = try await run(
            "accounts", "adopt", "--names", names.path, "--recovery-keys", keys, "--developer", "mei", "--yes",
            data: data)
        #expect(adopted.status == 0, "\(adopted.errors)")
        #expect(try !hasKeptKeys(data))
        #expect(try FileManager.default.contentsOfDirectory(atPath: keys).count == 2)
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(keys)/bob@example.org.txt")) == key)
        let again = try await run("accounts", "adopt", data: data)
        #expect(again.status == 0 && again.output.contains("already"), "\(again.errors)")
        let dev = try await run("dev", "--port", "0", data: data)
        #expect(dev.status == 1 && dev.errors.contains("production server"))
    }

    // MARK: After

    private func device(
        _ name: String, _ production: StartedProduction, _ keys: String = "first", of container: String = lists
    ) async throws -> CKContainer {
        let person = try #require(Self.names[name])
        let apiToken = try await production.command("api-tokens", "create", "--container", container)
        let token = try await production.command("sessions", "create", person, "--container", container)
        return try production.device(token: token, apiToken, keys: "\(name)-\(keys)", of: container)
    }

    /// A device of a person that has taken the recovery key from its file.
    private func recovered(
        _ name: String, _ production: StartedProduction, of container: String = lists
    ) async throws -> CKContainer {
        let person = try #require(Self.names[name])
        let file = production.directory.appendingPathComponent("recovery/\(person).txt")
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        if container == Self.lists {
            try await recover(person, file, production, keys: "\(name)-first")
        } else {
            let key = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .newlines)
            try await device(name, production, of: container).recoverDevice(key: key)
        }
        return try await device(name, production, of: container)
    }

    /// Runs `nephos keys recover` with the file of a recovery key as its input.
    private func recover(
        _ person: String, _ file: URL, _ production: StartedProduction, keys: String
    ) async throws {
        let finished = try await StartedNephos(
            ["keys", "recover", "--url", production.url, "--container", Self.lists],
            environment: [
                "NEPHOS_TOKEN": try await production.command("sessions", "create", person, "--container", Self.lists),
                "NEPHOS_API_TOKEN": try await production.command("api-tokens", "create", "--container", Self.lists),
                "NEPHOS_CA_FILE": production.certificate.certificateFile,
                "NEPHOS_KEYS": production.directory.appendingPathComponent("keys-\(keys)").path,
            ], input: try FileHandle(forReadingFrom: file)
        ).finish()
        #expect(finished.status == 0, "\(finished.errors)")
    }

    @Test func `people of nephos dev go on with accounts of a production server`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            let before = try await useDev(data)
            #expect(try await run("verify", data: data).status == 0)
            try await adopt(data, in: directory)
            #expect(try await run("verify", data: data).status == 0)
            let production = try await StartedProduction(in: directory)
            try await production.command(
                "accounts", "set-password", "mei@example.org", input: StartedProduction.password)

            let waiting = try await #require(throws: CKError.self) {
                _ = try await Self.text(try await device("mei", production).privateCloudDatabase, "list")
            }
            #expect(waiting.code == .accountTemporarilyUnavailable)
            #expect(waiting.localizedDescription.contains("nephos keys recover"), "\(waiting.localizedDescription)")
            let mei = try await recovered("mei", production)
            #expect(try await mei.userRecordID() == before.users["mei"])
            #expect(try await Self.text(mei.privateCloudDatabase, "list") == "groceries")
            #expect(try await mei.privateCloudDatabase.allSubscriptions().map(\.subscriptionID) == ["lists"])
            try await expectRenewedKeys(mei, production)
            #expect(
                try await Self.changes(mei.privateCloudDatabase, in: Self.zoneID, since: before.token).texts
                    == ["eggs": "12"])

            let bob = try await recovered("bob", production)
            #expect(try await bob.userRecordID() == before.users["bob"])
            #expect(try await Self.text(bob.sharedCloudDatabase, "milk", in: before.sharedZone) == "2 litres")
            // The renewed share key arrives once mei's device has seen that bob's account has another key.
            _ = try await Self.changes(mei.privateCloudDatabase, in: Self.zoneID)
            let fetched = try await Self.changes(
                try await device("bob", production).sharedCloudDatabase, in: before.sharedZone,
                since: before.sharedToken)
            #expect(fetched.texts == ["eggs": "12"])

            // Zoe was invited by the name that she had, and uses the URL of before. It has not the renewed key's secret.
            let zoe = try await device("zoe", production)
            let accepted = try await zoe.accept(try await zoe.shareMetadata(for: before.url))
            _ = try await Self.changes(mei.privateCloudDatabase, in: Self.zoneID)
            let zoesList = try await device("zoe", production).sharedCloudDatabase
            #expect(try await Self.text(zoesList, "milk", in: accepted.recordID.zoneID) == "2 litres")
            #expect(try await Self.text(zoesList, "eggs", in: accepted.recordID.zoneID) == "12")
            let elsewhere = try await recovered("mei", production, of: Self.other)
            #expect(try await Self.text(elsewhere.privateCloudDatabase, "a") == "elsewhere")
            #expect(try await production.server.stop().status == 0)
            #expect(try await run("verify", data: data).status == 0)
        }
    }

    /// The device that took the recovery key is alone on the list, and its next value is under a key that nobody kept.
    private func expectRenewedKeys(_ mei: CKContainer, _ production: StartedProduction) async throws {
        let devices = AccountDevices(mei.session.account.service, container: Self.lists)
        let list = try await devices.device().list
        #expect(list.devices.count == 1 && list.recoveryKeys.count == 1 && list.accountKeyVersion == 2)
        try await Self.save(Self.record("eggs", "12", parent: "list"), to: mei.privateCloudDatabase)
        let zone = KeyZone(owner: nil, name: Self.zoneID.zoneName)
        let share = try await mei.privateCloudDatabase.record(
            for: try #require(
                try await mei.privateCloudDatabase.record(
                    for: CKRecord.ID(recordName: "list", zoneID: Self.zoneID)
                ).share
            ).recordID)
        let answer = try await mei.session.account.service.send(
            .lookupKeys, LookupKeysRequest(zoneID: zone.zoneID, group: share.recordID.recordName, wantsGroup: true),
            zone.call)
        #expect(answer.group.map(\.recipient).last == list.accountKey)
        #expect(answer.group.count == 2)
        // A second device is approved as ever.
        let second = try await device("mei", production, "second")
        let code = try #require(try await second.deviceCode())
        try await mei.approveDevice(code: code)
        let again = try await device("mei", production, "second").privateCloudDatabase
        #expect(try await Self.text(again, "list") == "groceries")
        #expect(try await Self.text(again, "eggs") == "12")
    }

    @Test func `devices that have their keys in files keep them at the new address`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            let server = try StartedNephos(["dev", "--require-approval", "--data", data, "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            for (name, text) in [("mei", "Mei's"), ("bob", "Bob's")] {
                let environment = CloudKitEnvironment(
                    url: try #require(URL(string: "http://127.0.0.1:\(port)")), account: .token("dev:\(name)"),
                    keyDirectory: directory.appendingPathComponent("keys-\(name)-first"))
                let app = CKContainer(identifier: Self.lists, service: environment.service(of: Self.lists))
                _ = try await app.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
                try await Self.save(Self.record("a", text), to: app.privateCloudDatabase)
            }
            #expect(try await server.stop().status == 0)
            let names = directory.appendingPathComponent("names")
            try Data("mei = mei@example.org\nbob = bob@example.org".utf8).write(to: names)
            let adopted = try await run("accounts", "adopt", "--names", names.path, "--yes", data: data)
            #expect(adopted.status == 0 && !adopted.output.contains("recovery"), "\(adopted)")
            let production = try await StartedProduction(in: directory)
            for (name, text) in [("mei", "Mei's"), ("bob", "Bob's")] {
                let database = try await device(name, production).privateCloudDatabase
                #expect(try await Self.text(database, "a") == text)
            }
            let other = try await device("mei", production, "second").privateCloudDatabase
            await #expect(throws: CKError.self) { try await Self.text(other, "a") }
            #expect(try await production.server.stop().status == 0)
        }
    }
}
