import CloudKitLocal
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Attacks of a malicious service on devices, case by case: each is an error, or is among those that the page's threat model
/// admits.
@Suite final class HostileServiceTests {
    private typealias Cloud = SharedValuesTests.Cloud

    /// What a device gets that reads the item's text.
    enum Outcome: Equatable {
        case text(String?)
        case error(CKError.Code)
    }

    enum Lie: CaseIterable {
        case swapsFields, swapsRecords, retypes, truncates
        case stripsField, replaysValue
        case addsDevice, forksList, shortensList, replacesList
        case substitutesKeys, reordersVersions, handsShareKeyOfItsOwn, replacesOwnersList, withholdsShareKey

        var isToldToGuest: Bool {
            [.handsShareKeyOfItsOwn, .replacesOwnersList, .withholdsShareKey].contains(self)
        }

        var outcome: Outcome {
            switch self {
            case .swapsFields, .swapsRecords, .retypes, .truncates: .error(.internalError)
            case .stripsField: .text(nil)
            case .replaysValue: .text("first")
            case .addsDevice, .forksList, .shortensList, .replacesList: .error(.accountTemporarilyUnavailable)
            case .substitutesKeys, .reordersVersions, .handsShareKeyOfItsOwn, .replacesOwnersList:
                .error(.internalError)
            case .withholdsShareKey: .error(.zoneBusy)
            }
        }

        /// Of the page, where it is no error.
        var sentence: String? {
            switch self {
            case .stripsField: "strip a field as if it had been removed"
            case .replaysValue: "give an earlier value of the same field, which its owner did save"
            case .withholdsShareKey: "withhold a share's key from a participant's device"
            default: nil
            }
        }
    }

    private let cloud: Cloud
    private let owner: CKContainer
    private let guest: CKContainer
    private static let call = ServiceCall(scope: .private)
    private static let wireZone = ZoneIDDictionary(zoneName: "Lists")

    init() throws {
        cloud = try Cloud(escrows: false)
        owner = cloud.container("mei")
        guest = cloud.container("ana")
    }

    deinit { cloud.removeKeys() }

    @Test(arguments: Lie.allCases) func `each attack has its error, or its sentence in the threat model`(lie: Lie)
        async throws
    {
        let (former, zone) = try await prepare()
        let account = lie.isToldToGuest ? "ana" : "mei"
        let (service, container) = cloud.hostile(account)
        let place = KeyPlace(
            container: "iCloud.local", environment: "development", owner: try await owner.userRecordID().recordName)
        try tell(lie, service, former, place)
        let database = lie.isToldToGuest ? container.sharedCloudDatabase : container.privateCloudDatabase
        let recordID = CKRecord.ID(recordName: "milk", zoneID: lie.isToldToGuest ? zone : Cloud.zoneID)
        let outcome: Outcome
        do {
            outcome = .text(try await database.record(for: recordID).encryptedValues["text"] as? String)
        } catch let error as CKError {
            outcome = .error(error.code)
        }
        #expect(outcome == lie.outcome)
        if let sentence = lie.sentence { #expect(try threatModel().contains(sentence)) }
    }

    /// A shared list whose item was written twice, by an account with a list of two entries.
    /// - Returns: the item's former value, and the zone as the participant has it.
    private func prepare() async throws -> (former: SealedFieldValue, zone: CKRecordZone.ID) {
        let root = try await cloud.makeList(owner)
        let database = owner.privateCloudDatabase
        let share = try await cloud.share(root, of: owner)
        try await guest.join(share.url)
        let milk = try await database.record(for: CKRecord.ID(recordName: "milk", zoneID: Cloud.zoneID))
        milk.encryptedValues["text"] = "first"
        milk.encryptedValues["more"] = "of it"
        _ = try await database.save(milk)
        let answer = try await owner.session.service.send(
            .lookupRecords, LookupRecordsRequest(records: [.init(recordName: "milk")], zoneID: Self.wireZone), Self.call
        )
        guard case .record(let stored)? = answer.records.first,
            case .sealed(let former)? = try stored.fields.decoded()["text"]?.value
        else { throw CKError(.internalError) }
        milk.encryptedValues["text"] = "second"
        _ = try await database.save(milk)
        let zone = try #require(try await guest.sharedCloudDatabase.allRecordZones().first).zoneID
        let read = try await guest.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "milk", zoneID: zone))
        #expect(read.encryptedValues["text"] as? String == "second")
        _ = try await cloud.hostile("mei").service.devices.makeRecoveryKey()
        return (former, zone)
    }

    private func tell(
        _ lie: Lie, _ service: HostileService, _ former: SealedFieldValue, _ place: KeyPlace
    ) throws {
        switch lie {
        case .swapsFields, .swapsRecords, .retypes, .truncates, .stripsField, .replaysValue:
            service.changingRecords.value = { name, fields in
                if name == "milk" { Self.change(&fields, lie, former) }
            }
        case .addsDevice, .forksList, .shortensList, .replacesList:
            let secrets = try ownersSecrets()
            service.changingAccountKeys.value = { Self.changed($0, lie, place, secrets) }
        case .substitutesKeys, .reordersVersions, .handsShareKeyOfItsOwn, .replacesOwnersList, .withholdsShareKey:
            service.changingKeys.value = { Self.changed($0, lie, place) }
        }
    }

    private static func change(_ fields: inout RecordFields, _ lie: Lie, _ former: SealedFieldValue) {
        guard case .sealed(var value)? = fields["text"]?.value, case .sealed(let more)? = fields["more"]?.value else {
            return
        }
        switch lie {
        case .swapsFields: value = more
        case .swapsRecords: value.bytes.replaceSubrange(1...8, with: [1, 2, 3, 4, 5, 6, 7, 8])
        case .retypes: value.type = .bytes
        case .truncates: value.bytes.removeLast(3)
        case .replaysValue: value = former
        default:
            fields["text"] = nil
            return
        }
        fields["text"] = Field(.sealed(value), isEncrypted: true)
    }

    private static func changed(
        _ answer: AccountKeysResponse, _ lie: Lie, _ place: KeyPlace, _ secrets: AccountSecrets
    ) -> AccountKeysResponse {
        var answer = answer
        guard let list = DeviceList(answer.entries, in: place), list.count == 2 else { return answer }
        let intruder = SigningKeyPair.random()
        let device = DeviceKeys(signing: intruder.publicKey, box: BoxKeyPair.random().publicKey)
        func entry(after list: DeviceList, by author: SigningKeyPair) -> [UInt8] {
            DeviceListEntry(
                number: list.count, previous: list.hash, change: .add, device: device,
                accountKeyVersion: list.accountKeyVersion, accountKey: list.accountKey, author: author.publicKey
            ).signed(by: author, in: place)
        }
        switch lie {
        case .addsDevice: answer.entries.append(entry(after: list, by: intruder))
        case .forksList:
            // With the help of a device that is on the list.
            if let first = DeviceList(Array(answer.entries.prefix(1)), in: place),
                let listed = SigningKeyPair(seed: [UInt8](secrets.signingSeed))
            {
                answer.entries = Array(answer.entries.prefix(1)) + [entry(after: first, by: listed)]
            }
        case .shortensList: answer.entries.removeLast()
        default: answer.entries = DeviceIdentity.firstEntry(.random(), in: place).map { [$0] } ?? []
        }
        return answer
    }

    private static func changed(_ answer: KeysResponse, _ lie: Lie, _ place: KeyPlace) -> KeysResponse {
        var answer = answer
        let own = SigningKeyPair.random()
        // The service knows the key in this box, and signs it itself.
        func forged(_ key: WrappedGroupKey) -> WrappedGroupKey {
            var key = key
            key.box = BoxKeyPair.seal([UInt8](repeating: 7, count: 32), for: key.recipient) ?? []
            key.signer = own.publicKey
            key.signature = own.signature(of: [])
            return key
        }
        switch lie {
        case .substitutesKeys: answer.group = answer.group.map(forged)
        case .reordersVersions: for index in answer.group.indices { answer.group[index].version += 1 }
        case .handsShareKeyOfItsOwn: answer.boxes = answer.boxes.map(forged)
        case .replacesOwnersList:
            if !answer.ownerEntries.isEmpty {
                answer.ownerEntries = DeviceIdentity.firstEntry(.random(), in: place).map { [$0] } ?? []
            }
        default: answer.boxes = []
        }
        return answer
    }

    private func ownersSecrets() throws -> AccountSecrets {
        let folder = "\(cloud.directory)/mei"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".json") })
        let data = try #require(FileManager.default.contents(atPath: "\(folder)/\(name)"))
        return try JSONDecoder().decode(KeptKeys.Contents.self, from: data).secrets
    }

    /// What the page says that the service can do, its lines joined.
    private func threatModel() throws -> String {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Documentation/Encryption.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let start = try #require(text.range(of: "## What it protects from, and what not"))
        return text[start.lowerBound...].split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
