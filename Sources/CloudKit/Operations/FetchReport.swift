/// Reports the results of an operation that fetches items by their IDs: each item, and then the end.
final class FetchReport<ID: Hashable & Sendable, Item: Sendable>: Sendable {
    struct Blocks {
        var perItem: ((ID, Result<Item, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        /// The block in its older form, which receives all items at once.
        var completion: (([ID: Item]?, (any Error)?) -> Void)?
    }

    /// The results of the items, for the older completion block.
    private struct Outcome {
        var items: [ID: Item] = [:]
        var errors: [AnyHashable: any Error] = [:]
    }

    let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    /// Stores the result of an item, and calls the block for it.
    func tell(_ id: ID, _ result: Result<Item, CKError>) {
        outcome.withLock { outcome in
            switch result {
            case .success(let item): outcome.items[id] = item
            case .failure(let error): outcome.errors[id] = error
            }
        }
        blocks.perItem?(id, result.mapError { $0 })
    }

    /// Calls the blocks for the end of the operation.
    func conclude(_ failure: CKError?, _ context: ErrorContext) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        let error = failure ?? .partialFailure(ifAny: outcome.errors, context)
        blocks.result?(error.map { .failure($0) } ?? .success(()))
        blocks.completion?(failure == nil ? outcome.items : nil, error)
    }

    func releaseBlocks() { blocks.exchange(Blocks()) }
}
