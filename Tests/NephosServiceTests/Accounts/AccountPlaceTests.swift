import NephosCrypto
import NephosWire
import Testing

@testable import NephosService

/// What an account sees of its devices and shares.
@Suite struct AccountPlaceTests {
    private let cloud = TestCloud()

    private func enroll(_ device: ListedDevice, _ entry: [UInt8], at position: Int64, _ context: RequestContext)
        async throws
    {
        _ = try await cloud.service.enroll(EnrollRequest(position: position, entry: entry), context)
    }

    @Test func `devices are those on the list, and a missing recovery key is told`() async throws {
        let context = cloud.context("mei")
        _ = try await cloud.service.currentUser(cloud.context("tom"))
        let place = try await cloud.service.keyPlace(context)
        let (first, second, recovery) = (ListedDevice(1), ListedDevice(2), ListedDevice(3))
        #expect(try await cloud.service.places(of: "mei").places.map(\.devices) == [[]])
        #expect(try await cloud.service.places(of: "mei").places.map(\.lacksRecoveryKey) == [false])
        var list = DeviceList()
        for entry in [
            { first.entry(.add, first, after: $0, in: place) }, { first.entry(.add, second, after: $0, in: place) },
        ] as [(DeviceList) -> [UInt8]] {
            let bytes = entry(list)
            try await enroll(first, bytes, at: list.count, context)
            let isAppended = list.append(bytes, in: place)
            #expect(isAppended)
        }
        let found = try #require(try await cloud.service.places(of: "mei").places.first)
        #expect(found.devices == [first.keys.name, second.keys.name] && found.lacksRecoveryKey)
        #expect(found.container == "iCloud.test" && found.environment == "development")
        try await enroll(first, first.entry(.recovery, recovery, after: list, in: place), at: 2, context)
        #expect(try await cloud.service.places(of: "mei").places.map(\.lacksRecoveryKey) == [false])
        // Another account's page has nothing of it, and that of one that was never there is empty.
        #expect(try await cloud.service.places(of: "tom").places.map(\.devices) == [[]])
        #expect(try await cloud.service.places(of: "ann").places.isEmpty)
    }

    @Test func `places come in pages, in the order of containers`() async throws {
        let count = Limits.storesPerPage + 3
        for number in 0..<count {
            let container = "iCloud.test\(number + 100)"
            _ = try await cloud.service.modifyZones(
                ModifyZonesRequest(operations: [
                    ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "z"))
                ]), cloud.context("mei", container: container))
        }
        let first = try await cloud.service.places(of: "mei")
        let second = try await cloud.service.places(of: "mei", after: try #require(first.next))
        #expect(first.places.count == Limits.storesPerPage && second.places.count == 3 && second.next == nil)
        let names = (first.places + second.places).map(\.container)
        #expect(names == names.sorted() && Set(names).count == count)
        // Another account, which is in the last container alone, sees it at once, and no other.
        let last = try #require(names.last)
        _ = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: [.create("a")]), cloud.context("tom", container: last))
        let others = try await cloud.service.places(of: "tom")
        #expect(others.places.map(\.container) == [last] && others.next == nil)
        for start in [-1, count, .max] { _ = try await cloud.service.places(of: "tom", after: start) }
    }

    @Test func `owners and participants see the title of a share, and others nothing`() async throws {
        let own = try await TestDatabase(cloud, "alice").making(zone: "Z")
        let body = """
            {"zoneID":{"zoneName":"Z"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"List"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_ONLY",
            "fields":{"cloudkit.title":{"value":"Trip"}}}}]}
            """
        let saved = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(decoding: Array(body.utf8)), own.context
        ).records
        let guid = try #require(saved.last?.record?.shareDetails?.shortGUID, "\(saved)")
        _ = try await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("bob"))
        let seen = try await cloud.service.places(of: "bob").places.flatMap(\.shares)
        #expect(seen.map(\.title) == ["Trip"] && seen.allSatisfy { !$0.isOwn })
        let shared = try await cloud.service.places(of: "alice").places.flatMap(\.shares)
        #expect(shared.map(\.participants) == [1] && shared.map(\.title) == ["Trip"] && shared.allSatisfy(\.isOwn))
        #expect(try await cloud.service.places(of: "carol").places.isEmpty)
    }
}
