import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization

@testable import NephosService

/// Stores that let a test do something before or after a write: between what was planned and what is carried out, or
/// between a commit and its answer.
final class InterceptedStores: StoreProvider {
    enum Moment: Sendable {
        /// Before the write is handed in.
        case before
        /// After its commit, before its answer.
        case after
    }

    typealias Action = @Sendable () async throws -> Void

    private struct Plan {
        var moment: Moment
        var writesLeft: Int
        var action: Action
    }

    private let provider = TestCluster.stores(or: MemoryStores())
    private let plan = Mutex<Plan?>(nil)

    /// Does something once: at a moment of the nth write from now on, 1 being the next.
    func intercept(_ moment: Moment, write number: Int, _ action: @escaping Action) {
        plan.withLock { $0 = Plan(moment: moment, writesLeft: number, action: action) }
    }

    var wasIntercepted: Bool { plan.withLock { $0 == nil } }

    func open(_ id: StoreID) throws -> any StorageEngine {
        InterceptedEngine(engine: try provider.open(id), stores: self)
    }

    func assets(of id: StoreID) throws -> any AssetStore { try provider.assets(of: id) }
    func existingStores() -> [StoreID] { [] }
    func close() {}

    /// What is to be done around the write that begins.
    fileprivate func next() -> (moment: Moment, action: Action)? {
        plan.withLock { plan in
            guard let current = plan else { return nil }
            if current.writesLeft > 1 {
                plan?.writesLeft -= 1
                return nil
            }
            plan = nil
            return (current.moment, current.action)
        }
    }
}

private final class InterceptedEngine: StorageEngine {
    let engine: any StorageEngine
    let stores: InterceptedStores

    init(engine: any StorageEngine, stores: InterceptedStores) {
        self.engine = engine
        self.stores = stores
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
        try await engine.read(body)
    }

    func write<T: Sendable>(
        of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        let next = stores.next()
        if let next, next.moment == .before { try await next.action() }
        let answer = try await engine.write(of: owners, body)
        if let next, next.moment == .after { try await next.action() }
        return answer
    }

    func close() async { await engine.close() }
}

extension QueryCloud {
    func schema(_ environment: ContainerEnvironment = .development) -> RequestContext {
        var context = context
        context.environment = environment
        return context
    }

    func importing(_ text: String) async throws -> SchemaReport { try await service.importSchema(text, schema()) }

    func dropping(_ field: String, of recordType: String = "Note") async throws -> SchemaReport {
        try await service.dropField(DropFieldRequest(recordType: recordType, field: field), schema())
    }

    func export(_ environment: ContainerEnvironment = .development) async throws -> String {
        try await service.exportSchema(schema(environment))
    }

    var indexes: [IndexStatus] {
        get async throws { try await service.schemaIndexes(schema()).indexes }
    }
}

extension SchemaReport {
    var errors: [String] { findings.filter(\.isError).map(\.message) }
}

/// A type's declaration, as short as the language has it.
func schemaText(_ types: String...) -> String {
    "DEFINE SCHEMA\n" + types.map { "RECORD TYPE \($0);" }.joined(separator: "\n")
}
