/// Reports the results of an operation that saves and deletes items: each item, and then the end.
final class ModificationReport<ID: Hashable & Sendable, Item: Sendable>: Sendable {
    /// The result of one item.
    enum Event: Sendable {
        case save(ID, Item, CKError?)
        case delete(ID, CKError?)
    }

    struct Blocks {
        var perSave: ((ID, Result<Item, any Error>) -> Void)?
        var perDelete: ((ID, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        /// The block in its older form, which receives all items at once.
        var completion: (([Item]?, [ID]?, (any Error)?) -> Void)?
    }

    /// The results of the items, for the older completion block.
    private struct Outcome {
        var saved: [Item] = []
        var deleted: [ID] = []
        var errors: [AnyHashable: any Error] = [:]
    }

    let blocks = Locked(Blocks())
    private let outcome = Locked(Outcome())

    /// Stores the result of an item, and calls the block for it.
    func tell(_ event: Event) {
        let blocks = blocks.withLock { $0 }
        outcome.withLock { outcome in
            switch event {
            case .save(_, let item, nil): outcome.saved.append(item)
            case .delete(let id, nil): outcome.deleted.append(id)
            case .save(let id, _, let error?), .delete(let id, let error?): outcome.errors[id] = error
            }
        }
        switch event {
        case .save(let id, let item, let error): blocks.perSave?(id, error.map { .failure($0) } ?? .success(item))
        case .delete(let id, let error): blocks.perDelete?(id, error.map { .failure($0) } ?? .success(()))
        }
    }

    /// Calls the blocks for the end of the operation.
    func conclude(_ failure: CKError?, _ context: ErrorContext) {
        let blocks = blocks.withLock { $0 }
        let outcome = outcome.exchange(Outcome())
        let error = failure ?? .partialFailure(ifAny: outcome.errors, context)
        blocks.result?(error.map { .failure($0) } ?? .success(()))
        blocks.completion?(failure == nil ? outcome.saved : nil, failure == nil ? outcome.deleted : nil, error)
    }

    func releaseBlocks() { blocks.exchange(Blocks()) }
}
