import NephosStorage
import NephosWire

/// Checks whether a participant may save a record in another owner's zone, by applying `ShareAccess` to the record and
/// to its new parent.
struct ParticipantChecks {
    private let zone: SharedZone
    private let shares: ZoneShares
    private let hierarchy: ShareHierarchy
    private let reader: StorageReader

    init(zone: SharedZone, _ shares: ZoneShares, _ hierarchy: ShareHierarchy, _ reader: StorageReader) {
        self.zone = zone
        self.shares = shares
        self.hierarchy = hierarchy
        self.reader = reader
    }

    /// - Throws: the refusal of the save; `recordExists` if the name is taken and the save is otherwise allowed. So an
    ///   unshared record looks like a missing one.
    func check(_ save: PlannedSave) throws {
        try checkAccess(save)
        if save.isNameTaken { throw ServiceError.recordExists }
    }

    private func checkAccess(_ save: PlannedSave) throws {
        // `ParticipantEdits` checks the changes to a share.
        if save.row.type == SystemRecordType.share { return }
        let isRoot = try shares.share(ofRoot: save.row.name) != nil
        let subject: ShareAccess.Subject = isRoot ? .root : .record
        if let zoneWide = zone.zoneWide {
            return try require(save.stored == nil ? .create : .change, subject, zoneWide.standing)
        }
        if save.stored == nil { return try checkNew(save) }
        let participation = try zone.participation(of: save.row.name, reader)
        let standing = participation?.standing ?? .outsider
        try require(.change, subject, standing)
        guard save.row.parent != save.stored?.parent else { return }
        if let parent = save.row.parent, try !isVisible(parent) {
            throw ReferenceRules.missingTarget(ReferenceEdge(target: parent, kind: .parent), of: save.row.name)
        }
        let leaves = try hierarchy.share(over: save.row.name) != participation?.share.id
        if isRoot || leaves { try require(.move, .record, standing) }
    }

    private func checkNew(_ save: PlannedSave) throws {
        guard let parent = save.row.parent else {
            throw ServiceError.shareRefusal(
                "a new record of the shared database needs a parent that is shared: record '\(save.row.name)'")
        }
        guard let new = try hierarchy.share(over: save.row.name), let participation = zone.participation(in: new)
        else {
            throw ReferenceRules.missingTarget(ReferenceEdge(target: parent, kind: .parent), of: save.row.name)
        }
        try require(.create, .record, participation.standing)
    }

    private func isVisible(_ name: String) throws -> Bool {
        guard let share = try hierarchy.share(over: name) else { return false }
        return zone.participation(in: share) != nil
    }

    private func require(
        _ action: ShareAccess.Action, _ subject: ShareAccess.Subject, _ standing: ShareAccess.Standing
    ) throws {
        switch ShareAccess.decide(action, on: subject, by: standing) {
        case .allowed: break
        case .invisible: throw ServiceError.recordNotFound
        case .refused(let reason): throw ServiceError.shareRefusal(reason)
        }
    }
}
