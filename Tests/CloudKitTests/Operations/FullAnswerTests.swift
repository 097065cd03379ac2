import CloudKit
import NephosWire
import Synchronization
import Testing

/// The service bounds the bytes of an answer to a look-up of many records, which Apple's API does not know.
@Suite struct FullAnswerTests {
    private let full = ErrorDictionary(
        uuid: "R", serverErrorCode: .badRequest, reason: LookupRecordsRequest.fullAnswer(32), clientErrorCode: 27)
    private let ids = (0..<9).map { CKRecord.ID(recordName: "\($0)") }

    private func code(_ result: Result<CKRecord, any Error>?) -> CKError.Code? {
        if case .failure(let error) = result { (error as? CKError)?.code } else { nil }
    }

    @Test func `records that an answer had no room for are looked up again`() async throws {
        let count = Mutex(0)
        // Every third has no room.
        let service = ScriptedService(
            ScriptedService.Script(lookup: { [full] _, _ in
                let count = count.withLock { count in
                    count += 1
                    return count
                }
                return count.isMultiple(of: 3) ? .failure(full) : nil
            }))
        let results = try await service.database.records(for: ids)
        #expect(results.count == 9)
        for (id, result) in results { #expect(try result.get().recordID == id) }
        #expect(service.lookups.map(\.records.count) == [9, 3, 1])
    }

    @Test func `a look-up that brings nothing further is the last`() async throws {
        let service = ScriptedService(
            ScriptedService.Script(lookup: { [full] item, _ in item.recordName == "0" ? nil : .failure(full) }))
        let results = try await service.database.records(for: ids)
        #expect(throws: Never.self) { try results[ids[0]]?.get() }
        #expect(results.values.count { code($0) == .limitExceeded } == 8)
        #expect(service.lookups.map(\.records.count) == [9, 8])
    }

    @Test func `a record refused for another limit is not looked up again`() async throws {
        let other = ErrorDictionary(
            uuid: "R", serverErrorCode: .badRequest, reason: "too many keys", clientErrorCode: 27)
        let service = ScriptedService(
            ScriptedService.Script(lookup: { item, _ in item.recordName == "0" ? .failure(other) : nil }))
        #expect(code(try await service.database.records(for: ids)[ids[0]]) == .limitExceeded)
        #expect(service.lookups.count == 1)
    }
}
