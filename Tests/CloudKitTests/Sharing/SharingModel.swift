import CloudKit

/// Sharing as a plain model has it: what every account may read and write, by going over everything.
struct SharingModel {
    struct Record: Equatable {
        var owner: String
        var parent: String?
        var title: String
    }

    struct Share: Equatable {
        var owner: String
        /// Nil where the zone is shared.
        var root: String?
        /// Everybody who is invited, with what they may do.
        var invited: [String: CKShare.ParticipantPermission] = [:]
        var joined: Set<String> = []
        var publicPermission = CKShare.ParticipantPermission.none
    }

    let accounts: [String]
    /// Record names are unique in the whole model.
    var records: [String: Record] = [:]
    /// By the names of their records.
    var shares: [String: Share] = [:]

    // MARK: Hierarchies

    func ancestors(of name: String) -> [String] {
        var chain: [String] = []
        var current: String? = name
        while let step = current, let record = records[step] {
            chain.append(step)
            current = record.parent
        }
        return chain
    }

    func children(of name: String) -> [String] {
        records.filter { $0.value.parent == name }.map(\.key).sorted()
    }

    func descendants(of name: String) -> [String] {
        children(of: name).flatMap { [$0] + descendants(of: $0) }
    }

    func share(ofRoot name: String) -> String? { shares.first { $0.value.root == name }?.key }

    func zoneShare(_ owner: String) -> String? { shares.first { $0.value.owner == owner && $0.value.root == nil }?.key }

    /// The share that a record is under.
    func share(over name: String) -> String? {
        guard let record = records[name] else { return nil }
        if let whole = zoneShare(record.owner) { return whole }
        for step in ancestors(of: name) { if let share = share(ofRoot: step) { return share } }
        return nil
    }

    // MARK: Rights

    func permission(_ account: String, in share: String) -> CKShare.ParticipantPermission {
        guard let share = shares[share], share.joined.contains(account) else { return .none }
        return share.invited[account] ?? share.publicPermission
    }

    func mayRead(_ account: String, _ name: String) -> Bool {
        guard let record = records[name] else { return false }
        if record.owner == account { return true }
        guard let share = share(over: name) else { return false }
        return permission(account, in: share) != .none
    }

    func mayWrite(_ account: String, _ name: String) -> Bool {
        guard let record = records[name] else { return false }
        if record.owner == account { return true }
        guard let share = share(over: name) else { return false }
        return permission(account, in: share) == .readWrite
    }

    /// What an account's shared database holds of an owner's zone: titles by names; shares have none.
    func shared(_ account: String, by owner: String) -> [String: String] {
        var found: [String: String] = [:]
        guard account != owner else { return found }
        for (name, record) in records where record.owner == owner && mayRead(account, name) {
            found[name] = record.title
        }
        for (name, share) in shares where share.owner == owner && permission(account, in: name) != .none {
            found[name] = ""
        }
        return found
    }
}

/// A device that follows the feeds of an account's shared database, and holds what they brought.
actor SharedDevice {
    private let database: CKDatabase
    private var databaseToken: CKServerChangeToken?
    private var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
    private(set) var zones: [CKRecordZone.ID: [String: String]] = [:]

    init(_ container: CKContainer) { database = container.sharedCloudDatabase }

    func follow() async throws {
        var changed: [CKRecordZone.ID] = []
        while true {
            let changes = try await database.databaseChanges(since: databaseToken)
            for deletion in changes.deletions {
                zones[deletion.zoneID] = nil
                zoneTokens[deletion.zoneID] = nil
                changed.removeAll { $0 == deletion.zoneID }
            }
            changed += changes.modifications.map(\.zoneID)
            databaseToken = changes.changeToken
            if !changes.moreComing { break }
        }
        for zoneID in changed { try await follow(zoneID) }
    }

    private func follow(_ zoneID: CKRecordZone.ID) async throws {
        while true {
            do {
                let changes = try await database.recordZoneChanges(
                    inZoneWith: zoneID, since: zoneTokens[zoneID], resultsLimit: 5)
                for (id, result) in changes.modificationResultsByID {
                    zones[zoneID, default: [:]][id.recordName] = try result.get().record["title"] as? String ?? ""
                }
                for deletion in changes.deletions { zones[zoneID]?[deletion.recordID.recordName] = nil }
                zoneTokens[zoneID] = changes.changeToken
                if !changes.moreComing { return }
            } catch let error as CKError where error.code == .changeTokenExpired {
                zones[zoneID] = [:]
                zoneTokens[zoneID] = nil
            }
        }
    }
}
