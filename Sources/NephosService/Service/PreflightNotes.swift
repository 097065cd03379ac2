import NephosWire
import Synchronization

/// What requests to development did that production or Apple's service may refuse, and that no schema shows: each
/// finding once, in memory, since the server's start.
final class PreflightNotes: Sendable {
    private let notes = Mutex<[String: [String]]>([:])

    /// - Returns: whether the note is new.
    func add(_ note: String, to container: String) -> Bool {
        notes.withLock { notes in
            if notes[container] == nil, notes.count >= Limits.preflightContainers { return false }
            var known = notes[container] ?? []
            if known.count >= Limits.preflightNotes || known.contains(note) { return false }
            known.append(note)
            notes[container] = known
            return true
        }
    }

    func of(_ container: String) -> [String] { notes.withLock { $0[container] ?? [] } }
}

extension NephosService {
    /// Notes what an accepted save brought to development: additions to the schema, and limits that are nearly reached.
    func preflight(_ request: ModifyRecordsRequest, _ applied: ModifyRecords.Applied, _ context: RequestContext) {
        guard context.environment == .development else { return }
        for addition in applied.additions { stores.logGrowth("\(addition) in '\(context.container)'") }
        note(PreflightRules.notes(request, savedBytes: applied.savedBytes.values.reduce(0, +)), context)
    }

    /// Notes what of an accepted query Apple's service lacks.
    func preflight(_ query: Query, _ context: RequestContext) {
        guard context.environment == .development, query.extendedFilter != nil else { return }
        note(
            [
                "queries of '\(Identifier.excerpt(query.recordType))' have conditions that Apple's service refuses"
                    + " (`CKQuery.extended`)"
            ], context)
    }

    private func note(_ notes: [String], _ context: RequestContext) {
        for note in notes where preflightNotes.add(note, to: context.container) {
            stores.logGrowth("\(note) in '\(context.container)'")
        }
    }
}

/// The rules for the limits that a save nearly reaches.
enum PreflightRules {
    private static let percent = 80

    static func notes(_ request: ModifyRecordsRequest, savedBytes: Int64) -> [String] {
        var notes: [String] = []
        if request.operations.count * 100 >= Limits.operationsPerRequest * percent {
            notes.append(
                "requests have over \(percent) % of the \(Limits.operationsPerRequest) records that a request may have")
        }
        let size = Limits.recordSize * percent / 100
        // A request that saved less than that has no such record.
        guard savedBytes >= size else { return notes }
        for operation in request.operations where operation.record.fields.storedSize >= size {
            let type = Identifier.excerpt(operation.record.recordType ?? "")
            notes.append(
                "records of type '\(type)' have over \(percent) % of the \(Limits.recordSize) bytes that a record may have"
            )
        }
        return notes
    }
}
