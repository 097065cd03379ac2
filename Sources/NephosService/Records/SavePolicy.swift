import NephosStorage
import NephosWire

/// The effect of an operation on the stored record, decided from the operation and the record alone (CloudKit Web
/// Services, records/modify; `RecordSavePolicy` for the native names):
///
/// - `create` refuses an existing record;
/// - `update` and `replace` need an existing record and its change tag (`ifServerRecordUnchanged`);
/// - `forceUpdate` and `forceReplace` overwrite any record (`changedKeys`, `allKeys`);
/// - an update keeps the fields that it does not mention; a replacement drops them except those in `keep` (our
///   extension);
/// - `delete` needs the record and, if a tag is given, that tag; `forceDelete` succeeds without a record;
/// - a conflict precedes all other errors and returns the server's record;
/// - `forceUpdate` and `forceReplace` over a record of another type change the record to the sent type and drop all old
///   fields ("For all other save policies, the server overwrites the contents of the existing record";
///   `CKRecord.recordID`, Apple's documentation). This neither creates nor replaces system types.
enum SaveDecision: Equatable {
    case insert
    case merge(into: RecordRow)
    case replace(RecordRow)
    case delete(RecordRow)
    /// The record does not exist. Its deletion is a success.
    case nothingToDelete
    /// The operation is refused. A conflict has the server's record; otherwise `server` is nil.
    case refuse(ServiceError, server: RecordRow? = nil)

    fileprivate var saves: Bool {
        switch self {
        case .insert, .merge, .replace: true
        case .delete, .nothingToDelete, .refuse: false
        }
    }
}

enum SavePolicy {
    /// - Parameter stored: the record with that name; nil if there is none or only a tombstone.
    static func decide(_ operation: ValidOperation, stored: RecordRow?) -> SaveDecision {
        guard let stored else { return decideWithoutRecord(operation) }
        let decision = decide(operation, over: stored)
        guard let type = operation.recordType, type != stored.type, decision.saves else { return decision }
        if operation.operationType.needsChangeTag || SystemRecordType.all.contains(type)
            || SystemRecordType.all.contains(stored.type)
        {
            return .refuse(
                .invalid("record '\(stored.name)' has the type '\(stored.type)' and cannot become '\(type)'"))
        }
        return .replace(stored)
    }

    private static func decide(_ operation: ValidOperation, over stored: RecordRow) -> SaveDecision {
        switch operation.operationType {
        case .create:
            return .refuse(.recordExists, server: stored)
        case .update:
            return ifUnchanged(operation, stored) { .merge(into: stored) }
        case .replace:
            return ifUnchanged(operation, stored) { .replace(stored) }
        case .forceUpdate:
            return .merge(into: stored)
        case .forceReplace:
            return .replace(stored)
        case .delete:
            return operation.recordChangeTag == nil
                ? .delete(stored) : ifUnchanged(operation, stored) { .delete(stored) }
        case .forceDelete:
            return .delete(stored)
        }
    }

    private static func decideWithoutRecord(_ operation: ValidOperation) -> SaveDecision {
        switch operation.operationType {
        case .create, .forceUpdate, .forceReplace: .insert
        case .update, .replace: .refuse(.changeTagWithoutRecord)
        case .delete: .refuse(.recordNotFound)
        case .forceDelete: .nothingToDelete
        }
    }

    private static func ifUnchanged(
        _ operation: ValidOperation, _ stored: RecordRow, then decision: () -> SaveDecision
    ) -> SaveDecision {
        guard let tag = operation.recordChangeTag, ChangeTag.matches(tag, sequence: stored.sequence) else {
            return .refuse(.staleChangeTag, server: stored)
        }
        return decision()
    }
}

extension RecordOperation.OperationType {
    var isDeletion: Bool { self == .delete || self == .forceDelete }
    var needsChangeTag: Bool { self == .update || self == .replace }
    var needsRecordType: Bool { self == .create || self == .forceUpdate || self == .forceReplace }
}
