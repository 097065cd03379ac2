import FoundationEssentials
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Request bodies with opaque strings that were not issued, or were issued for another purpose: each is refused with its own
/// code, every request ends, and none is an internal error.
@Suite struct TokenCodecFuzzTests {
    /// A string, and what it is good for.
    private struct Given: Hashable {
        var text: String
        var purpose: Purpose
    }

    private enum Purpose: Hashable, CaseIterable {
        case query, distance, zone, database, fetchEnd
    }

    private let cloud = TestCloud()

    private func queryBody(_ purpose: Purpose, _ marker: String?) -> [UInt8] {
        var query = Query(recordType: "Place")
        if purpose == .distance {
            query.sortBy = [.init(.field("at"), relativeLocation: LocationValue(latitude: 47, longitude: 8))]
        } else {
            query.sortBy = [.init(.field("n"), ascending: false)]
        }
        return QueryRecordsRequest(
            query: query, zoneID: ZoneIDDictionary(zoneName: "Z"), resultsLimit: 2, continuationMarker: marker
        ).encoded()
    }

    /// Sends a string where one of a purpose belongs.
    private func send(_ text: String, as purpose: Purpose, _ database: TestDatabase) async -> ServiceError? {
        do {
            switch purpose {
            case .query, .distance:
                let request = try QueryRecordsRequest(decoding: queryBody(purpose, text))
                _ = try await cloud.service.queryRecords(request, database.context)
            case .zone: _ = try await database.changes(since: text, limit: 2)
            case .database: _ = try await database.databaseChanges(since: text, limit: 1)
            case .fetchEnd: _ = try await database.changes(limit: 2, fetchEnd: text)
            }
            return nil
        } catch let error as ServiceError {
            return error
        } catch {
            // The body itself was refused.
            return .invalid("\(error)")
        }
    }

    private func given(_ database: TestDatabase) async throws -> [Given] {
        var given: [Given] = []
        for purpose in [Purpose.query, .distance] {
            let request = try QueryRecordsRequest(decoding: queryBody(purpose, nil))
            let page = try await cloud.service.queryRecords(request, database.context)
            given.append(Given(text: try #require(page.continuationMarker), purpose: purpose))
        }
        let page = try await database.changes(limit: 2)
        given.append(Given(text: page.syncToken, purpose: .zone))
        given.append(Given(text: try #require(page.fetchEnd), purpose: .fetchEnd))
        given.append(Given(text: try await database.databaseChanges().syncToken, purpose: .database))
        return given
    }

    private func prepared(_ account: String) async throws -> TestDatabase {
        let database = try await TestDatabase(cloud, account).making(zone: "Z")
        let records = (0..<8).map { number in
            RecordOperation.create(
                "p\(number)",
                [
                    "at": .location(LocationValue(latitude: 47, longitude: Double(number))),
                    "n": .int64(Int64(number)),
                ], type: "Place")
        }
        #expect(try await database.modify(records).allSatisfy { $0.record != nil })
        return database
    }

    private func mutated(_ text: String, _ random: inout SeededGenerator) -> String {
        var bytes = Array(text.utf8)
        switch Int.random(in: 0..<6, using: &random) {
        case 0 where !bytes.isEmpty:
            let index = bytes.indices.randomElement(using: &random) ?? 0
            bytes[index] = Array("ABCDabcd0189-_+/=".utf8).randomElement(using: &random) ?? 0
        case 1: bytes.removeLast(min(bytes.count, Int.random(in: 1...8, using: &random)))
        case 2: bytes += Array("AAAA".utf8).prefix(Int.random(in: 1...4, using: &random))
        case 3: bytes.swapAt(0, bytes.count - 1)
        case 4:
            // Never empty: an empty token is no position, and starts from the beginning.
            bytes = Array(
                Data(
                    (0..<Int.random(in: 1...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                ).base64EncodedString().utf8)
        default: bytes.reverse()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(.timeLimit(.minutes(600)), arguments: FuzzBudget.seeds)
    func `any text in place of an opaque string is answered or refused`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let databases = [try await prepared("me"), try await prepared("you")]
        let given = [try await given(databases[0]), try await given(databases[1])]
        for step in 0..<FuzzBudget.steps(400) {
            let owner = Int.random(in: 0...1, using: &random)
            let asker = Int.random(in: 0...1, using: &random)
            let original = try #require(given[owner].randomElement(using: &random))
            let purpose = try #require(Purpose.allCases.randomElement(using: &random))
            let isChanged = Bool.random(using: &random)
            let text = isChanged ? mutated(original.text, &random) : original.text
            let isOfPurpose =
                purpose == original.purpose || purpose == .fetchEnd && original.purpose == .zone
            let isGood = text == original.text && owner == asker && isOfPurpose
            let error = await send(text, as: purpose, databases[asker])
            #expect((error == nil) == isGood, "seed \(seed), step \(step): \(text) as \(purpose)")
            if let error {
                #expect(
                    [.invalidArguments, .changeTokenExpired].contains(error.clientCode), "seed \(seed), step \(step)")
                #expect(error.code == .badRequest, "seed \(seed), step \(step)")
            }
        }
        #expect(cloud.log.all.allSatisfy { $0.hasSuffix("was made by its first write") }, "seed \(seed)")
    }
}
