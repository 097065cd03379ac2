import CloudKit
import NephosWire
import Testing

/// The precedence of configurations of an operation.
@Suite struct OperationConfigurationTests {
    @Test func `a configuration has Apple's defaults`() {
        let configuration = CKOperation.Configuration()
        #expect(configuration.container == nil)
        #expect(configuration.qualityOfService == .default)
        #expect(configuration.allowsCellularAccess)
        #expect(!configuration.isLongLived)
        #expect(configuration.timeoutIntervalForRequest == 60)
        #expect(configuration.timeoutIntervalForResource == 604_800)
    }

    @Test func `an operation copies its configuration, returns its own, and nil resets it`() {
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 5
        let operation = CKFetchRecordsOperation()
        operation.configuration = configuration
        configuration.timeoutIntervalForRequest = 6
        #expect(operation.configuration.timeoutIntervalForRequest == 5)
        operation.configuration.timeoutIntervalForRequest = 7
        #expect(operation.configuration.timeoutIntervalForRequest == 7)
        operation.configuration = nil
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
    }

    /// What reaches the service: seconds a request and a resource may take.
    private func timeouts(
        operation: (request: Double?, resource: Double?) = (nil, nil),
        configured: (request: Double?, resource: Double?) = (nil, nil),
        group: (request: Double?, resource: Double?) = (nil, nil), quality: QualityOfService? = nil
    ) async throws -> (request: Double, resource: Double?) {
        func configuration(_ values: (request: Double?, resource: Double?)) -> CKOperation.Configuration {
            let configuration = CKOperation.Configuration()
            if let request = values.request { configuration.timeoutIntervalForRequest = request }
            if let resource = values.resource { configuration.timeoutIntervalForResource = resource }
            return configuration
        }
        let service = ScriptedService()
        let fetch = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        fetch.configuration = configuration(operation)
        if let quality { fetch.qualityOfService = quality }
        let operationGroup = CKOperationGroup()
        operationGroup.defaultConfiguration = configuration(group)
        fetch.group = operationGroup
        await fetch.finish {
            service.database.configuredWith(configuration: configuration(configured)) { $0.add(fetch) }
        }
        let call = try #require(service.calls.last)
        return (call.requestTimeout, call.resourceTimeout)
    }

    @Test func `the operation's own value wins, then its database's, then its group's, then the default`() async throws
    {
        #expect(try await timeouts() == (60, 604_800))
        #expect(try await timeouts(group: (1, 10)) == (1, 10))
        #expect(try await timeouts(configured: (2, nil), group: (1, 10)) == (2, 10))
        #expect(try await timeouts(operation: (3, nil), configured: (2, 20), group: (1, 10)) == (3, 20))
        // A value that was set wins even where it is the default.
        #expect(try await timeouts(operation: (60, 604_800), configured: (2, 20), group: (1, 10)) == (60, 604_800))
    }

    @Test(
        arguments: [
            (QualityOfService.userInteractive, nil), (.userInitiated, nil), (.default, 604_800), (.utility, 604_800),
            (.background, 604_800),
        ] as [(QualityOfService, Double?)])
    func `a user-initiated operation has no total time limit`(quality: QualityOfService, limit: Double?) async throws {
        #expect(try await timeouts(quality: quality).resource == limit)
        #expect(try await timeouts(operation: (nil, 30), quality: quality).resource == 30)
    }

    @Test func `configuredWith changes only the object it passes`() async throws {
        let service = ScriptedService()
        let container = service.container
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 7
        configuration.timeoutIntervalForResource = 70
        let group = CKOperationGroup()
        group.name = "Gallery"
        let zones = try await container.configuredWith(configuration: configuration, group: group) { configured in
            #expect(configured !== container)
            #expect(configured.containerIdentifier == container.containerIdentifier)
            return try await configured.privateCloudDatabase.allRecordZones()
        }
        #expect(zones == [])
        _ = try await container.privateCloudDatabase.allRecordZones()
        let database = container.publicCloudDatabase
        let name = database.configuredWith(group: group) { configured in
            #expect(configured !== database)
            #expect(configured.databaseScope == .public)
            return "done"
        }
        #expect(name == "done")
        #expect(service.calls.map(\.requestTimeout) == [7, 60])
        #expect(service.calls.map(\.resourceTimeout) == [70, nil])
    }

    @Test func `an operation without a database works on the private database of its container`() async {
        let service = ScriptedService()
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        await operation.finish { service.container.add(operation) }
        #expect(service.calls.map(\.scope) == [.private])
        let container = service.container
        let other = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        other.configuration.container = container
        await other.finish { other.start() }
        #expect(service.calls.count == 2)
    }

    @Test func `an operation's database determines its container`() {
        let container = ScriptedService().container
        let operation = CKFetchRecordsOperation()
        operation.database = container.publicCloudDatabase
        #expect(operation.configuration.container === container)
        #expect(operation.database === container.publicCloudDatabase)
    }

    @Test func `the operation's older properties map to its configuration`() {
        let operation = CKFetchRecordsOperation()
        let container = ScriptedService().container
        #expect(olderAPI.configure(operation, container) == 4)
        operation.qualityOfService = .utility
        let configuration = operation.configuration
        #expect(configuration?.container === container)
        #expect(configuration?.allowsCellularAccess == false)
        #expect(configuration?.isLongLived == true)
        #expect(configuration?.timeoutIntervalForRequest == 3)
        #expect(configuration?.timeoutIntervalForResource == 4)
        #expect(configuration?.qualityOfService == .utility)
    }

    @Test func `requests about the account and its keys have the configured time-out`() async throws {
        let service = ScriptedService()
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 7
        let record = CKRecord(recordType: "Artwork")
        record.encryptedValues["secret"] = "x"
        await service.container.configuredWith(configuration: configuration) { configured in
            _ = try? await configured.privateCloudDatabase.save(record)
            _ = try? await configured.userRecordID()
            _ = try? await configured.accountStatus()
        }
        #expect(service.calls.count > 1 && service.calls.allSatisfy { $0.requestTimeout == 7 }, "\(service.calls)")
    }

    @Test func `an archive names the group and a sort by distance as Apple's do`() throws {
        let group = CKOperationGroup()
        let distance = CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 1, longitude: 2))
        for (object, name) in [(group as NSObject, "CKOperationGroup"), (distance, "CKLocationSortDescriptor")] {
            let archive = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
            let text = String(decoding: archive, as: UTF8.self)
            #expect(text.contains(name) && !text.contains("CloudKit.\(name)"))
        }
        let archive = try NSKeyedArchiver.archivedData(withRootObject: distance, requiringSecureCoding: true)
        let opened = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKLocationSortDescriptor.self, from: archive)
        #expect(opened?.key == "place" && opened?.relativeLocation.coordinate.longitude == 2)
    }

    @Test func `a group comes back from an archive`() throws {
        let group = CKOperationGroup()
        group.name = "Gallery"
        group.quantity = 40
        group.expectedSendSize = .tensOfMegabytes
        group.expectedReceiveSize = .kilobytes
        group.defaultConfiguration.timeoutIntervalForRequest = 9
        group.defaultConfiguration.qualityOfService = .utility
        let archive = try NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true)
        let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: archive))
        #expect(copy.operationGroupID == group.operationGroupID)
        #expect(copy.name == "Gallery")
        #expect(copy.quantity == 40)
        #expect(copy.expectedSendSize == .tensOfMegabytes)
        #expect(copy.expectedReceiveSize == .kilobytes)
        #expect(copy.defaultConfiguration.timeoutIntervalForRequest == 9)
        #expect(copy.defaultConfiguration.qualityOfService == .utility)
        #expect(copy.defaultConfiguration.timeoutIntervalForResource == 604_800)
    }
}
