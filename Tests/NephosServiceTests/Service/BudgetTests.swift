import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The work and the answer of every request are bounded, and a refusal names the bound.
@Suite struct BudgetTests {
    private func refusal(_ query: Query, _ cloud: QueryCloud = QueryCloud()) async throws -> ServiceError? {
        try await cloud.modify([.create("a", ["n": .int64(1), "t": .string("word")])])
        return await cloud.refusal(query)
    }

    @Test func `a query has a limited number of filters at any depth`() async throws {
        let bounds = QueryBounds()
        let filter = Filter(.field("n"), .equals, .int64(1))
        for count in [bounds.filtersPerQuery + 1, 20_000] {
            let filters = Array(repeating: filter, count: count)
            #expect(try await refusal(Query(recordType: "Note", filterBy: filters))?.clientCode == .limitExceeded)
            var extended = Query(recordType: "Note")
            extended.extendedFilter = .or(filters.map(QueryExpression.filter))
            #expect(try await refusal(extended)?.clientCode == .limitExceeded)
        }
        let filters = (0..<bounds.filtersPerQuery).map { Filter(.field("n"), .notEquals, .int64(Int64(-$0 - 1))) }
        #expect(try await refusal(Query(recordType: "Note", filterBy: filters)) == nil)
        let sorts = Array(repeating: QuerySortDescriptor(.field("n")), count: bounds.sortsPerQuery + 1)
        #expect(try await refusal(Query(recordType: "Note", sortBy: sorts))?.clientCode == .limitExceeded)
    }

    @Test func `a search has a limited number of words`() async throws {
        let bounds = QueryBounds()
        func search(_ count: Int, _ comparator: FilterComparator) -> Query {
            let words = (0..<count).map { "w\($0)" }.joined(separator: " ")
            return Query(recordType: "Note", filterBy: [Filter(.allSearchableFields, comparator, .string(words))])
        }
        for comparator in [FilterComparator.containsAllTokens, .containsAnyTokens] {
            #expect(try await refusal(search(16_000, comparator))?.clientCode == .limitExceeded)
            #expect(try await refusal(search(bounds.tokensPerFilter + 1, comparator))?.clientCode == .limitExceeded)
            #expect(try await refusal(search(bounds.tokensPerFilter, comparator)) == nil)
        }
    }

    @Test func `a subscription has the limits of a query`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("a", ["n": .int64(1)])])
        let filters = (0..<200).map { Filter(.field("n"), .notEquals, .int64(Int64($0))) }
        let error = try await database.save(.query("S", where: filters)).error
        #expect(error?.clientErrorCode == ServiceError.ClientCode.limitExceeded.rawValue)
    }

    @Test func `a page of a query ends at its byte budget, and no record is missing`() async throws {
        var bounds = QueryBounds()
        bounds.answerSize = 30_000
        let cloud = QueryCloud(bounds: bounds)
        let text = FieldValue.string(String(repeating: "x", count: 10_000))
        try await cloud.modify((0..<20).map { .create("n\($0)", ["n": .int64(Int64($0)), "text": text]) })
        for sort in [[], [QuerySortDescriptor(.field("n"))]] {
            let query = Query(recordType: "Note", sortBy: sort)
            #expect(try await cloud.page(query).records.count == 3)
            #expect(try await Set(cloud.all(query)).count == 20)
            #expect(try await cloud.page(query, count: true).count == 20)
        }
    }

    @Test func `a lookup answers within its byte budget, and refuses the records beyond`() async throws {
        let database = TestDatabase(TestCloud())
        let size = 900_000
        let bytes = FieldValue.string(String(repeating: "x", count: size))
        _ = try await database.modify([.create("large", ["text": bytes])])
        let request = LookupRecordsRequest(records: Array(repeating: .init(recordName: "large"), count: 100))
        let results = try await database.cloud.service.lookupRecords(request, database.context).records
        let given = results.count { $0.record != nil }
        #expect(given == Limits.lookupSize / size + 1)
        let errors = results.compactMap(\.error)
        #expect(errors.count == 100 - given)
        #expect(errors.allSatisfy { $0.clientErrorCode == ServiceError.ClientCode.limitExceeded.rawValue })
    }

    @Test func `saves add a limited number of fields to a type, and of types`() async throws {
        let database = TestDatabase(TestCloud())
        var next = 0
        func fields(_ count: Int) -> [String: FieldValue] {
            defer { next += count }
            return Dictionary(uniqueKeysWithValues: (next..<next + count).map { ("f\($0)", .int64(1)) })
        }
        var refused: ErrorDictionary?
        for number in 0..<12 where refused == nil {
            refused = try await database.modify([.create("n\(number)", fields(50))])[0].error
        }
        #expect(refused?.clientErrorCode == ServiceError.ClientCode.limitExceeded.rawValue)
        // What the type has can still be saved.
        #expect(try await database.modify([.create("later", ["f0": .int64(2)])])[0].record != nil)
        // Of another's type an account uses up no more than its part.
        _ = try await database.modify([.create("shared", type: "Shared")])
        let guest = TestDatabase(database.cloud, "guest")
        for start in [0, 50] {
            #expect(try await guest.modify([.create("g\(start)", fields(50), type: "Shared")])[0].record != nil)
        }
        let beyond = try await guest.modify([.create("g100", fields(1), type: "Shared")])[0].error
        #expect(beyond?.clientErrorCode == ServiceError.ClientCode.limitExceeded.rawValue)
        #expect(beyond?.reason.contains("add them by an import") == true)
        #expect(
            try await guest.modify([.create("known", ["f\(next - 50)": .int64(1)], type: "Shared")])[0].error == nil)
        for number in 0..<3 {
            #expect(try await database.modify([.create("s\(number)", fields(50), type: "Shared")])[0].record != nil)
        }
        let other = TestDatabase(database.cloud, "guest 2")
        #expect(try await other.modify([.create("o", fields(50), type: "Shared")])[0].record != nil)
        // It is the store that knows, and not who saved last.
        let stored = try await database.cloud.service.stores.using(
            StoreID(container: "iCloud.test", environment: "development")
        ) { store in try await store.engine.read { try Schema($0) } }
        #expect(stored.fieldMakers["Shared"]?.values.map(\.count).sorted() == [50, 100])
        var types = 0
        for account in 0..<7 {
            let database = TestDatabase(database.cloud, "account\(account)")
            let results = try await database.modify(
                (0..<101).map { .create("t\($0)", type: "T\(account)x\($0)") })
            let made = results.count { $0.record != nil }
            #expect(made <= Limits.typesPerAccount)
            types += made
            let error = results.last?.error
            #expect(error?.clientErrorCode == ServiceError.ClientCode.limitExceeded.rawValue)
            #expect(error?.reason.contains("add it by an import") == true)
            if account == 0 { #expect(error?.reason.contains("of one account") == true && made == 100) }
            // A type that is there is everybody's.
            #expect(try await database.modify([.create("more", type: "T0x1")])[0].record != nil)
        }
        #expect(types > 400 && types < Limits.typesPerContainer)
    }
}
