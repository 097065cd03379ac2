import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// The form of shares' keys, links and device lists, byte by byte, as in Documentation/Encryption.md, and an independent
/// reader of them.
@Suite struct SharedFormatTests {
    private static let account = KeyPlace(
        container: "iCloud.org.example.App", environment: "development", owner: "_0123456789abcdef0123456789abcdef")
    private static let group = GroupPlace(zone: ZonePlace(account: account, zoneName: "Notes"), group: "list-1")
    private static let share = "list-1"
    private static let recordKey = RecordKey(id: Array(1...8), key: .counting(from: 0))
    private static let shareKey = SealKey.counting(from: 0x60)
    private static let secret = SealKey.counting(from: 0x80)
    private static let secrets = AccountSecrets(
        signingSeed: Data(SealKey.counting(from: 0xA0).bytes), boxSecretKey: Data(SealKey.counting(from: 0xC0).bytes),
        accountKeys: [1: Data((0xE0...0xFF).map { UInt8($0) })])

    /// What the page shows.
    private enum Vector {
        static let wrapped = [
            "01", "404142434445464748494a4b4c4d4e4f5051525354555657",
            "9ba0fa5ac5e2e18f6ff68cf7ea34958379637512d68bdf503b1033cb3c72e678",
            "4b6305352ea59555432420b2ad20c8affe58cc98f2cb6f8d728f9804b4372330", "85cc17cd2de11c1d5d304e064bdbe241",
        ].joined()
        static let link = [
            "01", "404142434445464748494a4b4c4d4e4f5051525354555657",
            "115931059c60fbee252b9bfe5b2d2a857870ec5d829a3ae240dfdf312b0a06d9",
            "8a6c76f528c8a0d232b2213f9cc473f463a6107fe6a821884c7291cea3001f7c", "8514b1ecb87cf6f3588039ae298ed3ab",
        ].joined()
        static let secret = [
            "01", "404142434445464748494a4b4c4d4e4f5051525354555657",
            "4d6e2a23801505da3bf61b3e39d8a482617d5ec6a5624cf3ff76663e4abf80c7",
            "c8a7c1526f243d9fe9707d50e7a6555a0c4491197de277f426fa50c84403bfb2",
            "5e5e384a728fe3ab6cc67a04865114c92596c349111a9a9a13401ee50e6ef409", "5a163615827ba0558579b866ad06c413",
        ].joined()
        static let entryHash = "73303b3ec75d5296bfc1366a737d8e88db16abd83d66baca2ad4aa083d15272f"
        static let fragment = "k=gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaXmJmam5ydnp9zMDs-x11Slr_BNmpzfY6I2xar2D1musoq1KoIPRUnLw"
        static let box = [
            "bf067e410e28f8a3a7dfd3511645ba7e88271194e83bb7158903143ceaa2600a",
            "e26524677b5acf0f0ddec3d7dd2cfe0f09de8289457ac43311935a0c638e9651890706a11140e64ac4b84a272aac5b60",
        ].joined()
        static let participants = [
            "8ce93dac732d4b11ceb1c5d3f89563678fa33681bd3c4f5016ec5e970bef8f17",
            "4df36e1aa5b982a3962f70a62adccf6b962a197fc9bfd6b123edbc0ebc8f320f",
        ].joined()
        static let signature = [
            "f1e0b80bd7af2f3eb8bf06f8bd00f244b1ecebac50dc8a3ed0b8afe76a463d9f",
            "9764c90fd25d57b2f88851098ed392a4029e7a63129e0ab9da496f118c7db108",
        ].joined()
    }

    private static func device() throws -> DeviceIdentity {
        let entry = try #require(DeviceIdentity.firstEntry(secrets, in: account))
        let list = try #require(DeviceList([entry], in: account))
        return try #require(DeviceIdentity(secrets, list, in: account))
    }

    private static func vectorKey(_ device: DeviceIdentity) -> WrappedGroupKey {
        WrappedGroupKey(
            version: 1, recipient: device.list.accountKey, box: [UInt8](hex: Vector.box), previous: [],
            signer: device.signing.publicKey, signature: [UInt8](hex: Vector.signature))
    }

    @Test func `the library reads the page's test vectors, and produces the page's list`() throws {
        let device = try Self.device()
        #expect(device.list.hash.hex == Vector.entryHash)
        let wrapped = WrappedRecordKey(
            id: Self.recordKey.id, group: Self.share, version: 1, wrapped: [UInt8](hex: Vector.wrapped))
        #expect(
            RecordKey(wrapped, under: Self.shareKey, recordName: "note-1", in: Self.group) == Self.recordKey)
        let proof = GroupProof(group: Self.group, owner: device.list, own: device.list, signers: [], isOwn: true)
        let keys = try GroupKeys(KeysResponse(group: [Self.vectorKey(device)]), proof, device)
        #expect(keys.currentKey == Self.shareKey)
        let link = WrappedLink(version: 1, key: [UInt8](hex: Vector.link), secret: [UInt8](hex: Vector.secret))
        let opened = try #require(ShareLink(link, keys, of: Self.group))
        #expect(opened.secret == Self.secret && opened.owner == device.list.hash && opened.fragment == Vector.fragment)
        #expect(opened.key(link, of: Self.group) == Self.shareKey)
        #expect(opened.key(link, of: Self.group, participant: "p") == nil, "a one-time URL has another context")
        #expect(ShareLink(fragment: Vector.fragment) == opened)
    }

    @Test func `the library and Python sign the same list of participants, which is the page's`() throws {
        let (reader, device) = (try PythonReader(), try Self.device())
        let keyID = GroupKeyID.of(box: [UInt8](hex: Vector.box))
        let list = ParticipantList(
            number: 1, keyID: keyID, accountKey: device.list.accountKey, isOpen: false, participants: ["bob", "ana"])
        let signed = list.signed(by: device.signing, for: Self.group)
        #expect(signed.count == 310 && Array(signed.suffix(64)).hex == Vector.participants)
        let made = try reader.ask(
            [
                "do": "makeParticipants", "key": device.list.accountKey.hex,
                "seed": [UInt8](Self.secrets.signingSeed).hex,
                "number": 1, "id": keyID.hex, "open": false, "participants": ["ana", "bob"],
            ], share: Self.share)
        #expect(made["list"] == signed.hex)
        let read = try reader.ask(["do": "readParticipants", "key": "", "list": signed.hex], share: Self.share)
        #expect(read["number"] == "1" && read["id"] == keyID.hex && read["participants"] == "ana bob")
        #expect(read["signer"] == device.signing.publicKey.hex && read["open"] == "False")
        #expect(ParticipantList(signed, for: Self.group)?.participants == ["ana", "bob"])
        // Each byte is signed, and the list is one of its share alone.
        for index in [60, 200, signed.count - 70, signed.count - 1] {
            var changed = signed
            changed[index] ^= 1
            #expect(ParticipantList(changed, for: Self.group) == nil)
        }
        let other = GroupPlace(zone: Self.group.zone, group: "list-2")
        #expect(ParticipantList(signed, for: other) == nil)
        #expect(ParticipantList(signed, for: GroupPlace(zone: Self.group.zone)) == nil)
    }

    @Test func `a Python reader opens a share's keys and its link, and reads the device list`() throws {
        let (reader, device) = (try PythonReader(), try Self.device())
        let entry = try #require(DeviceIdentity.firstEntry(Self.secrets, in: Self.account))
        let read = try reader.ask(["do": "readEntry", "key": "", "entry": entry.hex])
        #expect(read["change"] == "add" && read["accountKey"] == device.list.accountKey.hex)
        #expect(read["signing"] == device.signing.publicKey.hex && read["author"] == read["signing"])
        var bad = entry
        bad[200] ^= 1
        #expect(try reader.ask(["do": "readEntry", "key": "", "entry": bad.hex])["error"] != nil)

        let next = try #require(GroupKeys().next(for: Self.group, device))
        var question: [String: Any] = [
            "do": "openGroupKey", "key": Self.secrets.accountKeys[1].map { [UInt8]($0).hex } ?? "", "version": 1,
            "box": next.wrapped.box.hex, "previous": "", "signer": next.wrapped.signer.hex,
            "signature": next.wrapped.signature.hex,
        ]
        #expect(try reader.ask(question, share: Self.share)["content"] == next.key.bytes.hex)
        #expect(try reader.ask(question, share: "other")["error"] != nil)
        question["version"] = 2
        #expect(try reader.ask(question, share: Self.share)["error"] != nil)

        let link = ShareLink(secret: Self.secret, owner: device.list.hash).wrapped(next.key, version: 1, of: Self.group)
        let opened = try reader.ask(
            [
                "do": "openLink", "key": next.key.bytes.hex, "version": 1, "link": link.key.hex,
                "secret": link.secret.hex,
            ], share: Self.share)
        #expect(opened["content"] == Self.secret.bytes.hex && opened["owner"] == Vector.entryHash)

        let wrapped = Self.recordKey.wrapped(under: next.key, version: 1, recordName: "note-1", in: Self.group)
        let unwrapped = try reader.ask(
            [
                "do": "unwrap", "key": next.key.bytes.hex, "version": 1, "id": wrapped.id.hex,
                "wrapped": wrapped.wrapped.hex,
            ], share: Self.share)
        #expect(unwrapped["content"] == Self.recordKey.key.bytes.hex)
    }

    @Test func `the library opens a share's keys and a list that Python made`() throws {
        let reader = try PythonReader()
        let account = try #require(BoxKeyPair(secretKey: [UInt8](Self.secrets.accountKeys[1] ?? Data())))
        let box = try #require(BoxKeyPair(secretKey: [UInt8](Self.secrets.boxSecretKey)))
        let seed = [UInt8](Self.secrets.signingSeed).hex
        let made = try reader.ask([
            "do": "makeEntry", "key": account.publicKey.hex, "seed": seed, "box": box.publicKey.hex,
        ])
        let entry = try #require(made["entry"])
        let list = try #require(DeviceList([[UInt8](hex: entry)], in: Self.account))
        let device = try #require(DeviceIdentity(Self.secrets, list, in: Self.account))
        #expect(list.hash.hex == Vector.entryHash)
        let key = try reader.ask(
            [
                "do": "makeGroupKey", "key": account.publicKey.hex, "version": 1, "seed": seed, "previous": "",
                "content": Self.shareKey.bytes.hex,
            ], share: Self.share)
        var group = Self.vectorKey(device)
        group.box = [UInt8](hex: try #require(key["box"]))
        group.signature = [UInt8](hex: try #require(key["signature"]))
        let proof = GroupProof(group: Self.group, owner: list, own: list, signers: [], isOwn: true)
        #expect(try GroupKeys(KeysResponse(group: [group]), proof, device).currentKey == Self.shareKey)
        let wrapped = try reader.ask(
            [
                "do": "wrap", "key": Self.shareKey.bytes.hex, "version": 1, "id": Self.recordKey.id.hex,
                "content": Self.recordKey.key.bytes.hex, "nonce": [UInt8](0x40..<0x58).hex,
            ], share: Self.share)
        #expect(wrapped["wrapped"] == Vector.wrapped)
    }
}
