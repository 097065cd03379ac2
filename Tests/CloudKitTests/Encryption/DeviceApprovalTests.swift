import CloudKitLocal
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Devices that join and leave an account, with a service without its keys.
@Suite final class DeviceApprovalTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/keys-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private struct Device {
        var service: HostileService
        var container: CKContainer
        var devices: AccountDevices
        var database: CKDatabase { container.privateCloudDatabase }

        func text(_ name: String) async throws -> String? {
            try await database.record(for: EncryptedCloud.recordID(name)).encryptedValues["text"] as? String
        }
    }

    private func device(_ cloud: EncryptedCloud, _ name: String, of account: String = "mei") -> Device {
        let service = HostileService(
            cloud.cloud.container(account: account), mayEscrow: false, keysIn: "\(directory)/\(account)-\(name)")
        return Device(service: service, container: service.container, devices: service.devices)
    }

    private func code(of device: Device) async throws -> String { try #require(try await device.devices.code()) }

    @Test func `a device joins by its code, and reads earlier records`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (first, second) = (device(cloud, "one"), device(cloud, "two"))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        await expectFailure(.accountTemporarilyUnavailable) { _ = try await second.text("a") }
        #expect(try await second.container.accountStatus() == .temporarilyUnavailable)
        let code = try await code(of: second)
        #expect(code.count == 19)
        #expect(try await self.code(of: second) == code, "it stays the code until it was used")
        let changed = Box(0)
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            _ in
            changed.value += 1
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        try await first.devices.approve(code.lowercased())
        #expect(try await second.container.accountStatus() == .available)
        #expect(changed.value > 0)
        #expect(try await second.text("a") == "secret")
        _ = try await second.database.save(EncryptedCloud.note("b", ["text": "more"]))
        #expect(try await device(cloud, "one").text("b") == "more")
        #expect(try await first.devices.list().count == 2)
        #expect(try await second.devices.code() == nil)
        await #expect(throws: AccountDevices.Failure.self) { try await first.devices.approve(code) }
    }

    @Test func `a wrong code approves no device`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (first, second) = (device(cloud, "one"), device(cloud, "two"))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        _ = try await code(of: second)
        for code in [CarriedSecret.code().text, "", "AAAA", CarriedSecret.recoveryKey().text] {
            await #expect(throws: AccountDevices.Failure.self) { try await first.devices.approve(code) }
        }
        #expect(try await first.devices.list().count == 1)
    }

    @Test func `a service that substitutes the code's keys or list learns nothing`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (first, second) = (device(cloud, "one"), device(cloud, "two"))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        let code = try await code(of: second)
        first.service.changingAccountKeys.value = { answer in
            var answer = answer
            for index in answer.messages.indices { answer.messages[index].request[60] ^= 1 }
            return answer
        }
        await #expect(throws: AccountDevices.Failure.self) { try await first.devices.approve(code) }
        first.service.changingAccountKeys.value = { $0 }
        try await first.devices.approve(code)
        let owner = try await first.container.userRecordID().recordName
        let place = KeyPlace(container: "iCloud.local", environment: "development", owner: owner)
        let forged = AccountSecrets.random()
        second.service.changingAccountKeys.value = { answer in
            var answer = answer
            answer.entries = DeviceIdentity.firstEntry(forged, in: place).map { [$0] } ?? []
            return answer
        }
        await expectFailure(.accountTemporarilyUnavailable) { _ = try await second.text("a") }
        second.service.changingAccountKeys.value = { $0 }
        #expect(try await second.text("a") == "secret")
    }

    @Test func `a recovery key puts a device on the list when all others are lost`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let first = device(cloud, "one")
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        let former = try await first.devices.makeRecoveryKey()
        let key = try await first.devices.makeRecoveryKey()
        try FileManager.default.removeItem(atPath: "\(directory)/mei-one")
        let second = device(cloud, "two")
        await expectFailure(.accountTemporarilyUnavailable) { _ = try await second.text("a") }
        var wrong = Array(key)
        wrong[3] = wrong[3] == "A" ? "B" : "A"
        for key in [former, String(wrong), String(key.dropLast(2)), CarriedSecret.recoveryKey().text] {
            await #expect(throws: AccountDevices.Failure.self) { try await second.devices.recover(key) }
        }
        #expect(try await second.devices.recover(key))
        #expect(try await second.text("a") == "secret")
        #expect(try await second.devices.list().map(\.isThis) == [false, true])
    }

    @Test func `who has a recovery key that was replaced opens nothing that is written later`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (first, second) = (device(cloud, "one"), device(cloud, "two"))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        try await first.devices.approve(try await code(of: second))
        /// The versions of the zone's key under which the record is, after it was written again.
        func write(_ text: String) async throws -> [Int64] {
            let writer = device(cloud, "one")
            let note = try await writer.database.record(for: EncryptedCloud.recordID("a"))
            note.encryptedValues["text"] = text
            _ = try await writer.database.save(note)
            let zoneID = ZoneIDDictionary(zoneName: "Notes")
            return try await writer.service.send(
                .lookupKeys, LookupKeysRequest(zoneID: zoneID, wantsGroup: true, recordNames: ["a"]),
                ServiceCall(scope: .private)
            ).records.first?.keys.map(\.version) ?? []
        }
        _ = try await first.devices.makeRecoveryKey()
        #expect(try await write("before") == [1])
        let key = try await first.devices.makeRecoveryKey()
        #expect(try await write("after") == [2])
        // The devices and the new key go on.
        #expect(try await device(cloud, "two").text("a") == "after")
        let third = device(cloud, "three")
        #expect(try await third.devices.recover(key))
        #expect(try await third.text("a") == "after")
    }

    @Test func `a device of the list tells the account's recovery key from others`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let first = device(cloud, "one")
        let former = try await first.devices.makeRecoveryKey()
        let key = try await first.devices.makeRecoveryKey()
        #expect(try await first.devices.recover(key) == false)
        for key in [former, CarriedSecret.recoveryKey().text] {
            await #expect(throws: AccountDevices.Failure.self) { try await first.devices.recover(key) }
            await expectFailure(.invalidArguments) { try await first.container.recoverDevice(key: key) }
        }
        #expect(try await first.devices.list().count == 1)
    }

    @Test func `a revoked device gets no later key, and signs none`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (first, second, third) = (device(cloud, "one"), device(cloud, "two"), device(cloud, "three"))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        for device in [second, third] { try await first.devices.approve(try await code(of: device)) }
        #expect(try await second.text("a") == "secret")
        #expect(try await third.text("a") == "secret")
        let name = try #require(try await second.devices.list().first { $0.isThis }).name
        try await first.devices.revoke(name)
        await expectFailure(.accountTemporarilyUnavailable) { _ = try await device(cloud, "two").text("a") }
        let again = device(cloud, "one")
        let note = try await again.database.record(for: EncryptedCloud.recordID("a"))
        note.encryptedValues["text"] = "new"
        _ = try await again.database.save(note)
        #expect(try await device(cloud, "three").text("a") == "new")
        let keys = try await again.service.send(
            .lookupKeys,
            LookupKeysRequest(
                zoneID: ZoneIDDictionary(zoneName: "Notes"), wantsGroup: true, recordNames: ["a"]),
            ServiceCall(scope: .private))
        #expect(keys.group.count == 2 && keys.records.first?.keys.map(\.version) == [2])
        #expect(Set(keys.group.map(\.recipient)).count == 2)
        await #expect(throws: AccountDevices.Failure.self) { try await again.devices.revoke(name) }
    }

    /// A device that was approved and revoked, and a code with which it was approved.
    private func revoked(_ cloud: EncryptedCloud) async throws -> (device: Device, code: String) {
        let (first, second) = (device(cloud, "one"), device(cloud, "two"))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        let code = try await code(of: second)
        try await first.devices.approve(code)
        let name = try #require(try await second.devices.list().first { $0.isThis }).name
        try await first.devices.revoke(name)
        let note = try await device(cloud, "one").database.record(for: EncryptedCloud.recordID("a"))
        note.encryptedValues["text"] = "new"
        _ = try await device(cloud, "one").database.save(note)
        return (device(cloud, "two"), code)
    }

    @Test func `a revoked device returns with new keys, once it is approved again`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (second, former) = try await revoked(cloud)
        for _ in 0..<2 {
            let error = await expectFailure(.accountTemporarilyUnavailable) { _ = try await second.text("a") }
            #expect(error?.localizedDescription.contains("was revoked") == true)
        }
        let first = device(cloud, "one")
        let refusal = await #expect(throws: AccountDevices.Failure.self) { try await first.devices.approve(former) }
        #expect(refusal?.description.contains("was revoked") == true)
        let code = try await code(of: second)
        #expect(code != former)
        await expectFailure(.accountTemporarilyUnavailable) { _ = try await device(cloud, "two").text("a") }
        try await first.devices.approve(code)
        #expect(try await device(cloud, "two").text("a") == "new")
        #expect(try await first.devices.list().count == 2)
        let again = await #expect(throws: AccountDevices.Failure.self) { try await first.devices.approve(code) }
        #expect(again?.description.contains("approved already") == true)
        let kept = try FileManager.default.contentsOfDirectory(atPath: "\(directory)/mei-two")
        #expect(kept.contains { $0.hasSuffix(".former") })
    }

    @Test func `a revoked device returns with new keys, by the recovery key`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let second = try await revoked(cloud).device
        let key = try await device(cloud, "one").devices.makeRecoveryKey()
        #expect(try await second.devices.recover(key))
        #expect(try await device(cloud, "two").text("a") == "new")
        #expect(try await second.devices.list().map(\.isThis) == [false, true])
    }

    @Test(arguments: [10, 32])
    func `a code is read in every spelling, and a recovery key with a wrong digit is refused`(
        size: Int
    ) throws {
        let secret = size == 10 ? CarriedSecret.code() : .recoveryKey()
        #expect(CarriedSecret(text: secret.text) == secret)
        #expect(CarriedSecret(text: secret.text.lowercased().replacingOccurrences(of: "-", with: " ")) == secret)
        #expect(CarriedSecret(text: secret.text + "22") == nil)
        #expect(CarriedSecret(text: "Grüße") == nil && CarriedSecret(text: "") == nil)
        #expect(secret.isRecoveryKey == (size == 32))
    }
}
