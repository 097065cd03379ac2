import NephosCrypto
import NephosStorage

extension ZoneBatch {
    /// The signed list of participants that a share's save brings; nil if it brings none that is valid now.
    func signedParticipants(_ bytes: [UInt8]?, of share: ShareRow) throws -> SignedParticipants? {
        guard let bytes, let account = caller.account else { return nil }
        let group = StoredGroupKeys.group(of: share)
        let owner = shared?.owner ?? account
        let check = ParticipantListCheck(
            group: GroupPlace(
                zone: ZonePlace(account: caller.keyPlace(of: owner), zoneName: zone.name), group: group),
            zone: zone.key, standing: KeyStanding(FoundZone(row: zone, shared: shared), group), account: account,
            owner: owner, lists: deviceLists, reader: reader)
        do {
            return try check.check(bytes)
        } catch is ServiceError {
            // The library looks the keys up again, and signs anew.
            return nil
        }
    }

    /// Stores what a share's save signs, and marks the participants that gain access unsigned.
    func putSigned(_ change: ParticipantEdits.Change, in transaction: StorageTransaction) throws {
        let group = StoredGroupKeys.group(of: change.share)
        if let signed = change.signed {
            try StoredParticipants.put(signed, of: group, zone.key, in: transaction)
            if shared != nil, let account = caller.account {
                try StoredGroupKeys.putSigner(account, of: group, zone.key, in: transaction)
            }
        }
        try StoredParticipants.mark(
            change.gains.filter { change.signed?.list.covers($0) != true }, of: group, zone.key, in: transaction)
    }
}
