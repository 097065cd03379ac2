import NephosWire
import Testing

@testable import NephosService

/// Saves and queries between the planning of an import and its commit, and between its commit and its answer. Each
/// interleaving is deterministic.
@Suite struct SchemaConcurrencyTests {
    private let stores = InterceptedStores()
    private let cloud: QueryCloud
    private let without = schemaText("Note (\"___recordID\" REFERENCE QUERYABLE, n NUMBER QUERYABLE)")

    init() { cloud = QueryCloud(stores: stores) }

    /// Records without values in the field `gone`, so that an import may drop it.
    private func prepare() async throws {
        try await cloud.modify([.force("a", ["n": .int64(1), "gone": .string("x")])])
        try await cloud.modify([.force("a", ["gone": nil])])
    }

    @Test func `a save between the data check and the drop stops the import, and is kept`() async throws {
        try await prepare()
        // The import's first write marks where its look begins, the second one drops.
        stores.intercept(.before, write: 2) { [cloud] in
            try await cloud.modify([.force("late", ["gone": .string("kept")])])
        }
        let report = try await cloud.importing(without)
        #expect(stores.wasIntercepted)
        #expect(
            report.errors == [
                "field 'gone' of record type 'Note' cannot be dropped: 1 record would lose data: 'late'"
            ])
        #expect(try await cloud.export().contains("gone            STRING"))
        let query = Query(recordType: "Note", filterBy: [Filter(.field("gone"), .equals, .string("kept"))])
        #expect(try await cloud.all(query) == ["late"])
    }

    @Test(arguments: [false, true])
    func `the data check is repeated if many records are written meanwhile`(losesData: Bool) async throws {
        try await prepare()
        let count = Limits.changesPerLossCheck + 1
        stores.intercept(.before, write: 2) { [cloud, stores] in
            for start in stride(from: 0, to: count, by: 400) {
                try await cloud.modify(
                    (start..<min(start + 400, count)).map { .force("n\($0)", ["n": .int64(Int64($0))]) })
            }
            if losesData { try await cloud.modify([.force("late", ["gone": .string("kept")])]) }
            // The second look's mark, which there is only then.
            stores.intercept(.before, write: 1) {}
        }
        let report = try await cloud.importing(without)
        #expect(stores.wasIntercepted)
        #expect(report.errors.count == (losesData ? 1 : 0), "\(report.errors)")
        #expect(try await cloud.export().contains("gone            STRING") == losesData)
    }

    @Test func `a field added between the plan and the change is checked for data too`() async throws {
        try await prepare()
        stores.intercept(.before, write: 2) { [cloud] in
            try await cloud.modify([.force("late", ["brandNew": .string("kept")], type: "Fresh")])
        }
        let report = try await cloud.importing(without)
        #expect(
            report.errors == ["record type 'Fresh' cannot be dropped: 1 record would lose data: 'late'"])
        // What an import with the same text but nothing in its way does.
        try await cloud.modify([.delete("late")])
        #expect(try await cloud.importing(without).errors == [])
    }

    @Test func `a save after the drop, but before its answer, makes the field again`() async throws {
        try await prepare()
        stores.intercept(.after, write: 2) { [cloud] in
            // As what it was dropped as, it could be saved against a schema that is no more.
            try await cloud.modify([.force("late", ["gone": .string("kept")])])
        }
        #expect(try await cloud.importing(without).errors == [])
        #expect(stores.wasIntercepted)
        #expect(try await cloud.export().contains("gone            STRING"))
    }

    @Test func `a query after the drop, but before its answer, is refused`() async throws {
        try await prepare()
        let query = Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("gone"))])
        #expect(try await cloud.all(query) == ["a"])
        let (cloud, seen) = (cloud, Seen())
        stores.intercept(.after, write: 2) { await seen.keep(cloud.refusal(query)?.reason) }
        #expect(try await cloud.importing(without).errors == [])
        let reason = await seen.reason
        #expect(reason?.hasPrefix("Field 'gone' is not marked sortable") == true, "\(reason ?? "it was answered")")
    }

    private actor Seen {
        var reason: String?
        func keep(_ reason: String?) { self.reason = reason }
    }

    @Test func `a query's index is not made if its field was dropped meanwhile`() async throws {
        try await prepare()
        let query = Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("gone"))])
        let (cloud, without) = (cloud, without)
        // The query's own write is the definition of its index.
        stores.intercept(.before, write: 1) { _ = try await cloud.importing(without) }
        #expect(await cloud.refusal(query)?.reason.hasPrefix("Field 'gone' is not marked sortable") == true)
        #expect(stores.wasIntercepted)
        #expect(try await cloud.indexes.allSatisfy { !$0.fields.contains("gone SORTABLE") })
    }

    @Test func `a save whose answer comes after a drop does not restore its old schema`() async throws {
        try await prepare()
        let cloud = self.cloud
        // The save adds a type; before it learns so, its record is deleted and the type dropped.
        stores.intercept(.after, write: 1) {
            try await cloud.modify([.delete("brief")])
            _ = try await cloud.importing(schemaText("Note (n NUMBER, gone STRING)"))
        }
        try await cloud.modify([.force("brief", ["x": .string("text")], type: "Brief")])
        #expect(stores.wasIntercepted)
        #expect(try await !cloud.export().contains("Brief"))
        // A schema that has `x` as a STRING would refuse this one, or not note its type.
        try await cloud.modify([.force("again", ["x": .int64(1)], type: "Brief")])
        #expect(try await cloud.export().contains("x               NUMBER"))
    }

    @Test func `concurrent saves and imports leave no value without its field`() async throws {
        try await prepare()
        let cloud = self.cloud
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<4 {
                group.addTask {
                    for round in 0..<25 {
                        _ = try? await cloud.modify([
                            .force("r\(lane)", ["f\(round % 3)": round % 2 == 0 ? .string("x") : nil, "n": .int64(1)])
                        ])
                    }
                }
            }
            group.addTask {
                for _ in 0..<25 { _ = try? await cloud.importing(self.without) }
            }
        }
        let text = try await cloud.export()
        for lane in 0..<4 {
            let found = try await cloud.service.lookupRecords(
                LookupRecordsRequest(records: [.init(recordName: "r\(lane)")]), cloud.context)
            let fields = try #require(try found.records.first?.record?.fields.decoded())
            for entry in fields.entries { #expect(text.contains("\n        \(entry.name) "), "\(entry.name)") }
        }
    }
}
