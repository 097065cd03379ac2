import CloudKit
import CloudKitTesting
import Testing

/// Every code of `CKError`, at its level.
extension FaultTests {
    static let codes = (1...37).compactMap(CKError.Code.init(rawValue:))

    @Test(arguments: codes.filter { $0 != .partialFailure })
    func `a save fails with every code, once`(code: CKError.Code) async throws {
        let fault = try LocalCloud.current.fail(.save, with: code)
        let record = note("a")
        let error = await #expect(throws: CKError.self) { try await database().save(record) }
        #expect(error?.code == code)
        #expect(fault.count == 1)
        try LocalCloud.current.clock.advance(by: .seconds(1))
        if code != .serverRecordChanged { try await database().save(record) }
    }

    static let codesOfItems: Set<CKError.Code> = [
        .partialFailure, .permissionFailure, .unknownItem, .invalidArguments, .serverRecordChanged,
        .assetFileNotFound, .assetFileModified, .assetNotAvailable, .constraintViolation, .changeTokenExpired,
        .batchRequestFailed, .zoneBusy, .quotaExceeded, .zoneNotFound, .userDeletedZone, .tooManyParticipants,
        .alreadyShared, .referenceViolation, .participantMayNeedVerification, .participantAlreadyInvited,
    ]

    @Test(arguments: codes)
    func `a code is reported at its level`(code: CKError.Code) async throws {
        try LocalCloud.current.fail(.save, record: "a", with: code)
        let (items, failure) = try await save([note("a"), note("b")])
        guard Self.codesOfItems.contains(code) else {
            #expect(failure?.code == code)
            return
        }
        #expect(failure?.code == .partialFailure)
        let expected = code == .partialFailure ? .serverRejectedRequest : code
        #expect(items == [note("a").recordID: expected])
        #expect((failure?.partialErrorsByItemID?[note("a").recordID] as? CKError)?.code == expected)
    }

    /// What a client asks for several items at a time.
    enum Lookup: CaseIterable {
        case metadatas, acceptances, participants, accessRequests, subscriptions
    }

    /// Returns a call for three items, which returns their errors.
    private func call(
        _ lookup: Lookup, _ container: CKContainer
    ) async throws -> () async throws -> [CKError.Code?] {
        func codes<Key, Value>(_ keys: [Key], _ results: [Key: Result<Value, any Error>]) -> [CKError.Code?] {
            keys.map { key in
                if case .failure(let error)? = results[key] { (error as? CKError)?.code } else { nil }
            }
        }
        let names = ["a", "b", "c"]
        switch lookup {
        case .metadatas, .acceptances, .accessRequests:
            let urls = try await shareURLs(names)
            if lookup == .metadatas { return { codes(urls, try await container.shareMetadatas(for: urls)) } }
            if lookup == .accessRequests { return { codes(urls, try await container.requestShareAccess(for: urls)) } }
            let found = try await container.shareMetadatas(for: urls)
            let metadatas = try urls.compactMap { try found[$0]?.get() }
            return { codes(metadatas, try await container.accept(metadatas)) }
        case .participants:
            let addresses = names.map { "\($0)@example.org" }
            return { codes(addresses, try await container.shareParticipants(forEmailAddresses: addresses)) }
        case .subscriptions:
            let database = container.privateCloudDatabase
            for name in names { try await database.save(CKDatabaseSubscription(subscriptionID: name)) }
            return { codes(names, try await database.subscriptions(for: names)) }
        }
    }

    /// Makes public shares of an account's records.
    func shareURLs(_ names: [String]) async throws -> [URL] {
        let database = try LocalCloud.current.container(account: "mei").privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        var urls: [URL] = []
        for name in names {
            let root = note(name, in: zoneID)
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readOnly
            _ = try await database.modifyRecords(saving: [root, share], deleting: [])
            urls.append(try #require(share.url))
        }
        return urls
    }

    @Test(arguments: Lookup.allCases)
    func `each code fails one of several items, or their request`(lookup: Lookup) async throws {
        let cloud = try LocalCloud.current
        let call = try await call(lookup, cloud.device("toms", account: "tom").container)
        for code in Self.codes where code != .serverRecordChanged {
            let isOfItem = Self.codesOfItems.contains(code)
            let fault = cloud.fail(
                lookup == .subscriptions ? .subscriptions : .sharing, device: "toms", isOfItem ? .nth(2) : .next,
                with: code)
            do {
                let codes = try await call()
                #expect(codes == [nil, code == .partialFailure ? .serverRejectedRequest : code, nil])
                #expect(isOfItem, "\(code)")
            } catch let error as CKError {
                #expect(!isOfItem && error.code == code)
            }
            #expect(fault.count == 1)
            cloud.clock.advance(by: .seconds(1))
        }
        #expect(try await call() == [nil, nil, nil])
    }
}
