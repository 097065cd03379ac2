import NephosWire

/// Selects one of the zones that are shared with an account, by the zone's name and by its owner. Either may be omitted
/// if the other alone is unambiguous.
struct SharedZoneChoice {
    var zone: String?
    /// The name of the owner's account, or of its user record; nil for any owner.
    var owner: String?

    /// - Throws: `Cloud.Failure` if no zone matches, or several do.
    func zoneID(in cloud: Cloud) throws -> ZoneIDDictionary {
        let zones = try cloud.read("zones/list", as: ZonesResponse.self).zones.compactMap { result in
            if case .zone(let zone) = result { zone.zoneID } else { nil }
        }
        let accounts = Dictionary(try cloud.accounts().map { ($0.userRecordName, $0.name) }) { $1 }
        func account(_ zone: ZoneIDDictionary) -> String {
            zone.ownerRecordName.map { accounts[$0] ?? $0 } ?? ""
        }
        let found = zones.filter { candidate in
            (zone == nil || candidate.zoneName == zone)
                && (owner == nil || account(candidate) == owner || candidate.ownerRecordName == owner)
        }
        if found.count == 1 { return found[0] }
        let all = (found.isEmpty ? zones : found).map { "'\($0.zoneName)' of \(account($0))" }.joined(separator: ", ")
        guard found.isEmpty else {
            throw Cloud.Failure(
                message: "which zone? Name it with '--zone NAME' and '--owner NAME'. There are: \(all).")
        }
        let meant =
            zone.map { Suggestion.text(for: $0, among: zones.map(\.zoneName).filter { $0 != zone }) } ?? ""
        throw Cloud.Failure(
            message: zones.isEmpty
                ? "nothing is shared with the account: it has to accept a share first ('nephos share accept URL')."
                : "no such zone is shared with the account. There are: \(all).\(meant)")
    }
}
