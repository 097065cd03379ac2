import FoundationEssentials
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite struct SchemaIndexTests {
    private let all = "\"___recordID\" REFERENCE QUERYABLE SORTABLE"
    private var byTitle: Query { Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("title"))]) }

    private func note(_ index: Int) -> RecordOperation {
        .force("n\(index)", ["title": .string("t\(20_000 - index)"), "list": .list(of: .string, [.string("x")])])
    }

    @Test func `removing an option removes its indexes and their entries`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.modify((0..<2500).map(note))
        _ = try await cloud.page(byTitle)
        _ = try await cloud.page(
            Query(recordType: "Note", filterBy: [Filter(.field("list"), .listContains, .string("x"))]))
        let zone = try #require(try await stores.engine.read { try $0.zones(after: 0, limit: .max) }.last?.key)
        let old = try await stores.engine.read { try $0.indexDefinitions() }
        #expect(old.map(\.components).sorted() == ["+title", "=list"])
        let range = { @Sendable (row: IndexDefinitionRow) in
            IndexRange(zone: zone, definition: row.id, from: [], to: OrderedBytes.end)
        }

        let report = try await cloud.importing(
            schemaText("Note (\(all), title STRING QUERYABLE, list LIST<STRING> QUERYABLE)"))
        #expect(report.errors == [])
        #expect(
            await cloud.refusal(byTitle)?.reason
                == "Field 'title' is not marked sortable: add SORTABLE to the field 'title' of 'Note' in the schema")
        // Saves do not keep it up any more.
        try await cloud.modify([note(9000)])
        await cloud.service.settle()
        #expect(try await stores.engine.read { try $0.indexDefinitions() }.map(\.components) == ["=list"])
        #expect(try await stores.engine.read { try $0.jobs(limit: .max) } == [])
        for row in old {
            let count = try await stores.engine.read { try $0.countIndexEntries(range(row), limit: .max) }
            #expect(count == (row.components == "=list" ? 2501 : 0))
        }
    }

    @Test func `an option added to a field with values is indexed at once, in the background`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        _ = try await cloud.importing(schemaText("Note (\(all), title STRING, list LIST<STRING>)"))
        try await cloud.modify((0..<1500).map(note))
        #expect(try await cloud.indexes == [])
        _ = try await cloud.importing(
            schemaText(
                "Note (\(all), title STRING QUERYABLE SORTABLE SEARCHABLE, list LIST<STRING> QUERYABLE, new STRING SORTABLE)"
            ))
        // A query does not see it half-built.
        #expect(try await cloud.all(byTitle).count == 1500)
        await cloud.service.settle()
        let indexes = try await cloud.indexes
        #expect(
            Set(indexes.map(\.fields)) == [
                ["title QUERYABLE"], ["title SORTABLE"], ["title SEARCHABLE"], ["list QUERYABLE"],
            ])
        #expect(indexes.allSatisfy { $0.state == .ready && $0.progress == 1 && $0.recordType == "Note" })
        let (actual, expected) = try await stores.engine.read { reader in
            let zones = try reader.zones(after: 0, limit: .max).map(\.key)
            return (try reader.allEntries(zones: zones), try reader.expectedEntries(zones: zones))
        }
        #expect(actual == expected)
    }

    @Test func `the indexes of both orders of a field are told apart`() async throws {
        let cloud = QueryCloud(stores: OpenStores())
        _ = try await cloud.importing(schemaText("Note (\(all), title STRING SORTABLE)"))
        try await cloud.modify([note(0)])
        for ascending in [false, true] {
            _ = try await cloud.all(
                Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("title"), ascending: ascending)]))
        }
        await cloud.service.settle()
        #expect(Set(try await cloud.indexes.map(\.fields)) == [["title SORTABLE"], ["title SORTABLE DESC"]])
    }

    @Test func `an index build reports its progress, and resumes there`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "nephos-schema-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        var cloud = QueryCloud(stores: try DataDirectory(path: path))
        _ = try await cloud.importing(schemaText("Note (\(all), title STRING, list LIST<STRING>)"))
        try await cloud.modify((0..<3000).map(note))
        await cloud.service.close()

        // A tool that leaves the background alone.
        let stores = OpenStores(try DataDirectory(path: path))
        let tool = NephosService(stores: stores, configuration: ServiceConfiguration(worksInBackground: false))
        let text = schemaText("Note (\(all), title STRING SORTABLE, list LIST<STRING>)")
        #expect(try await tool.importSchema(text, cloud.schema()).errors == [])
        func status() async throws -> IndexStatus? { try await tool.schemaIndexes(cloud.schema()).indexes.first }
        #expect(
            try await status()
                == IndexStatus(recordType: "Note", fields: ["title SORTABLE"], state: .building, progress: 0))
        var last = 0.0
        for _ in 0..<2 {
            #expect(try await stores.engine.write { try IndexBuildStep(accounts: Accounts()).run(in: $0) } == false)
            let now = try #require(try await status())
            #expect(now.progress > last && now.progress < 1 && now.state == .building)
            last = now.progress
        }
        await tool.close()

        cloud = QueryCloud(stores: try DataDirectory(path: path))
        #expect(try await cloud.all(byTitle) == (0..<3000).reversed().map { "n\($0)" })
        #expect(try await cloud.indexes.map(\.state) == [.ready])
        await cloud.service.close()
    }

    @Test func `an index removal reports its progress, and resumes there`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.makeZones("A", "B")
        try await cloud.modify((0..<2100).map(note), zone: "A")
        try await cloud.modify((0..<100).map(note), zone: "B")
        _ = try await cloud.page(byTitle, zone: "A")
        let engine = stores.engine
        let definition = try #require(try await engine.read { try $0.indexDefinitions() }.first)
        try await engine.write { transaction in
            try transaction.removeIndexDefinition(id: definition.id)
            try transaction.insert(BackgroundJob.removeIndex(definition.id, of: "Note"))
        }
        #expect(try await cloud.indexes.map(\.state) == [.removing])
        #expect(try await cloud.indexes.map(\.progress) == [0])
        var progress: [Double] = []
        while let job = try await engine.read({ try $0.jobs(limit: 1) }).first {
            try await engine.write { transaction in
                if try IndexRemoval(job)?.step(in: transaction) ?? true { try transaction.removeJob(id: job.id) }
            }
            progress += try await cloud.indexes.map(\.progress)
        }
        #expect(progress.count >= 2 && progress == progress.sorted() && (progress.last ?? 0) == 1, "\(progress)")
        let zones = try await engine.read { try $0.zones(after: 0, limit: .max).map(\.key) }
        for zone in zones {
            let range = IndexRange(zone: zone, definition: definition.id, from: [], to: OrderedBytes.end)
            #expect(try await engine.read { try $0.countIndexEntries(range, limit: .max) } == 0)
        }
    }
}
