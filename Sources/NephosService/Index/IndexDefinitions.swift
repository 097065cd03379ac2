import NephosStorage
import NephosWire

/// The definition of an index in a store.
struct IndexDefinition: Hashable, Sendable {
    var id: Int64
    var signature: IndexSignature
    var isReady: Bool
    /// Whether the index lacks records that were damaged during its build (`IndexDefinitionRow.leftOut`).
    var leavesOut = false
}

/// The indexes over the records of one type.
struct TypeIndexes: Sendable {
    private(set) var definitions: [IndexDefinition] = []
    /// The developer's fields that the indexes contain.
    private(set) var fields: [String] = []
    /// Whether an index contains user record names.
    private(set) var needsUsers = false
    /// Whether an index depends on a value that every save changes, or is being built. During a build, even a save that
    /// changes no value gives the record a new sequence, which the build does not reach.
    private(set) var looksAtEverySave = false
    /// Whether an index lacks records that were damaged during its build.
    private(set) var leavesOut = false

    func ready(_ signature: IndexSignature) -> Int64? {
        definitions.first { $0.isReady && $0.signature == signature }?.id
    }

    func defines(_ signature: IndexSignature) -> Bool { definitions.contains { $0.signature == signature } }

    fileprivate mutating func add(_ definition: IndexDefinition) {
        definitions.append(definition)
        leavesOut = leavesOut || definition.leavesOut
        looksAtEverySave = looksAtEverySave || !definition.isReady
        for component in definition.signature.components {
            switch component.key {
            case .field(QueryKey.changeTagField): looksAtEverySave = true
            case .field(let name) where !fields.contains(name): fields.append(name)
            case .system(let field):
                needsUsers = needsUsers || field.isUser
                looksAtEverySave = looksAtEverySave || field == .modifiedTimestamp || field == .modifiedUserRecordName
            default: break
            }
        }
    }
}

/// The indexes of a store, including those being built.
struct IndexDefinitions: Sendable {
    private var byType: [String: TypeIndexes] = [:]

    init(_ rows: [IndexDefinitionRow]) {
        for row in rows {
            // Skip an index that a newer version of the service made.
            guard let signature = IndexSignature(row.components) else { continue }
            byType[row.recordType, default: TypeIndexes()].add(
                IndexDefinition(
                    id: row.id, signature: signature, isReady: row.isReady, leavesOut: row.leavesOut))
        }
    }

    subscript(recordType: String) -> TypeIndexes? { byType[recordType] }
}
