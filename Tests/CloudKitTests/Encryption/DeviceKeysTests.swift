import CloudKitLocal
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Devices that store their own keys, and an untrusted service.
@Suite final class DeviceKeysTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/keys-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// The account's device with a directory of keys, on a service that it gives no keys to keep.
    private func device(_ cloud: EncryptedCloud, _ name: String = "one") -> (HostileService, CKDatabase) {
        let service = HostileService(
            cloud.cloud.container(account: "mei"), mayEscrow: false, keysIn: "\(directory)/\(name)")
        return (service, service.container.privateCloudDatabase)
    }

    private func keyFiles(_ name: String = "one") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(directory)/\(name)").filter { $0.hasSuffix(".json") }
            .map { "\(directory)/\(name)/\($0)" }
    }

    @Test func `the first device stores the keys in a private file, and finds them after a restart`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await device(cloud).1.save(EncryptedCloud.note("a", ["text": "secret"]))
        let file = try #require(try keyFiles().first)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let folder = try FileManager.default.attributesOfItem(atPath: "\(directory)/one")
        #expect((folder[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        let record = try await device(cloud).1.record(for: EncryptedCloud.recordID("a"))
        #expect(record.encryptedValues["text"] as? String == "secret")
        let keys = try await cloud.cloud.container(account: "mei").session.service.send(
            .accountKeys, EmptyKeysRequest(), ServiceCall(scope: .private))
        #expect(keys.escrow == nil && keys.entries.count == 1)
    }

    @Test func `an unapproved device reads, saves and skips nothing`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await device(cloud).1.save(EncryptedCloud.note("a", ["text": "secret"]))
        let other = device(cloud, "two").1
        await expectFailure(.accountTemporarilyUnavailable) {
            _ = try await other.record(for: EncryptedCloud.recordID("a"))
        }
        let changes = try await other.recordZoneChanges(inZoneWith: EncryptedCloud.zoneID, since: nil)
        await expectFailure(.accountTemporarilyUnavailable) {
            _ = try changes.modificationResultsByID[EncryptedCloud.recordID("a")]?.get()
        }
        await expectFailure(.accountTemporarilyUnavailable) {
            _ = try await other.save(EncryptedCloud.note("b", ["text": "secret"]))
        }
        let plain = CKRecord(recordType: "Plain", recordID: EncryptedCloud.recordID("p"))
        _ = try await other.save(plain)
        #expect(try await other.record(for: plain.recordID).recordID == plain.recordID)
        // The same keys make it the same device.
        try FileManager.default.removeItem(atPath: "\(directory)/two")
        try FileManager.default.copyItem(atPath: "\(directory)/one", toPath: "\(directory)/two")
        let record = try await device(cloud, "two").1.record(for: EncryptedCloud.recordID("a"))
        #expect(record.encryptedValues["text"] as? String == "secret")
        let later = try await device(cloud, "two").1.recordZoneChanges(
            inZoneWith: EncryptedCloud.zoneID, since: changes.changeToken)
        #expect(Set(later.modificationResultsByID.keys) == [record.recordID, plain.recordID])
    }

    @Test func `processes that start concurrently with one file are one device`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let databases = (0..<6).map { _ in device(cloud).1 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, database) in databases.enumerated() {
                group.addTask { _ = try await database.save(EncryptedCloud.note("n\(number)", ["n": number])) }
            }
            try await group.waitForAll()
        }
        let changes = try await device(cloud).1.recordZoneChanges(inZoneWith: EncryptedCloud.zoneID, since: nil)
        #expect(try changes.modificationResultsByID.values.map { try $0.get() }.count == 6)
    }

    @Test(arguments: ["{}", "", "[1"]) func `a damaged file is an error, and stays unchanged`(content: String)
        async throws
    {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await device(cloud).1.save(EncryptedCloud.note("a", ["text": "secret"]))
        let file = try #require(try keyFiles().first)
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(content.utf8))
        try handle.close()
        await expectFailure(.accountTemporarilyUnavailable) {
            _ = try await device(cloud).1.record(for: EncryptedCloud.recordID("a"))
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == content)
    }

    @Test func `a file that others can read is refused`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await device(cloud).1.save(EncryptedCloud.note("a", ["text": "secret"]))
        let file = try #require(try keyFiles().first)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        await expectFailure(.accountTemporarilyUnavailable) {
            _ = try await device(cloud).1.record(for: EncryptedCloud.recordID("a"))
        }
    }

    // MARK: A hostile service

    /// A list of devices that a service makes up.
    private static func forgedList(_ owner: String) -> [[UInt8]] {
        let place = KeyPlace(container: "iCloud.local", environment: "development", owner: owner)
        return DeviceIdentity.firstEntry(.random(), in: place).map { [$0] } ?? []
    }

    @Test func `another, shorter or unchained list is refused once the device has its own`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await device(cloud).1.save(EncryptedCloud.note("a", ["text": "secret"]))
        let owner = try await cloud.cloud.container(account: "mei").userRecordID().recordName
        let lies: [@Sendable (inout AccountKeysResponse) -> Void] = [
            { $0.entries = Self.forgedList(owner) }, { $0.entries = [] }, { $0.entries += Self.forgedList(owner) },
            { $0.entries[0][20] ^= 1 },
        ]
        for lie in lies {
            let (service, database) = device(cloud)
            service.changingAccountKeys.value = { answer in
                var answer = answer
                lie(&answer)
                return answer
            }
            await expectFailure(.accountTemporarilyUnavailable) {
                _ = try await database.record(for: EncryptedCloud.recordID("a"))
            }
        }
    }

    @Test func `a remote service that claims to keep keys gets none`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await device(cloud).1.save(EncryptedCloud.note("a", ["text": "secret"]))
        // `LocalCloud` says that it keeps keys; a device that does not believe it handed over none.
        let answer = try await cloud.cloud.container(account: "mei").session.service.send(
            .accountKeys, EmptyKeysRequest(), ServiceCall(scope: .private))
        #expect(answer.escrows && answer.escrow == nil)
        #expect(!CloudKitEnvironment(url: try #require(URL(string: "https://cloud.example.org"))).isLocalService)
        #expect(
            !CloudKitEnvironment(account: .token("158__54__x")).isLocalService, "an account of another service's")
        #expect(CloudKitEnvironment(account: .token("dev:mei")).isLocalService)
        let lookalike = try #require(URL(string: "http://127.0.0.1.example.org"))
        #expect(!CloudKitEnvironment(url: lookalike, account: .token("dev:mei")).isLocalService)
    }

    @Test func `a zone key that no device of the account made seals nothing`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (_, first) = device(cloud)
        _ = try await first.save(EncryptedCloud.note("a", ["text": "secret"]))
        let accountKey = Box<[UInt8]>([])
        let (service, database) = device(cloud)
        service.changingKeys.value = { answer in
            var answer = answer
            guard let genuine = answer.group.first else { return answer }
            accountKey.value = genuine.recipient
            // A box says nothing of who sealed it: the service knows the key in this one.
            let signer = SigningKeyPair.random()
            answer.group[0].box = BoxKeyPair.seal([UInt8](repeating: 7, count: 32), for: genuine.recipient) ?? []
            answer.group[0].signer = signer.publicKey
            answer.group[0].signature = signer.signature(of: [])
            return answer
        }
        await expectFailure(.internalError) {
            _ = try await database.save(EncryptedCloud.note("b", ["text": "secret"]))
        }
        #expect(!accountKey.value.isEmpty)
        let stored = try await cloud.stored("b")
        #expect(stored.isEmpty)
        // The record is an error; what is in the clear arrives.
        await expectFailure(.internalError) { _ = try await database.record(for: EncryptedCloud.recordID("a")) }
    }

    @Test func `omitted and replaced versions of a zone key are detected`() async throws {
        let place = KeyPlace(container: "c", environment: "development", owner: "_o")
        let secrets = AccountSecrets.random()
        let entry = try #require(DeviceIdentity.firstEntry(secrets, in: place))
        let list = try #require(DeviceList([entry], in: place))
        let device = try #require(DeviceIdentity(secrets, list, in: place))
        let zone = GroupPlace(zone: ZonePlace(account: place, zoneName: "Z"))
        func open(_ wrapped: [WrappedGroupKey], _ group: GroupPlace) throws -> GroupKeys {
            try GroupKeys(
                KeysResponse(group: wrapped),
                GroupProof(group: group, owner: device.list, own: device.list, signers: [], isOwn: true), device)
        }
        var wrapped: [WrappedGroupKey] = []
        var keys = try open([], zone)
        for _ in 1...3 {
            wrapped.append(try #require(keys.next(for: zone, device)).wrapped)
            let next = try open(wrapped, zone)
            for (version, key) in keys.keys { #expect(next.keys[version] == key) }
            keys = next
        }
        #expect(keys.current == 3 && keys.keys.count == 3)
        #expect(throws: GroupKeys.Invalid.self) { try open(Array(wrapped.dropFirst()), zone) }
        #expect(throws: GroupKeys.Invalid.self) { try open([wrapped[0], wrapped[2]], zone) }
        #expect(throws: GroupKeys.Invalid.self) {
            try open(wrapped, GroupPlace(zone: ZonePlace(account: place, zoneName: "Y")))
        }
        var changed = wrapped
        changed[1].previous[10] ^= 1
        #expect(throws: GroupKeys.Invalid.self) { try open(changed, zone) }
        #expect(try open(Array(wrapped.prefix(2)), zone).current == 2, "an older state is one")
    }
}
