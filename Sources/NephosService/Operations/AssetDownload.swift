import NephosStorage
import NephosWire

/// The rule for download addresses. An address resolves while its account exists. Outside of the account's own
/// database, the record must also still refer to the file, and the account must be able to read the record.
struct AssetDownload {
    private let download: AssetTokens.Download

    init(_ download: AssetTokens.Download) { self.download = download }

    /// The row of the address's file, and the account to which the address was given (nil for none). The whole result
    /// is nil if the address no longer resolves.
    func file(
        _ schema: @autoclosure () throws -> Schema, _ reader: StorageReader
    ) throws -> (AssetRow, AccountRow?)? {
        let zone = download.zone
        let account = try reader.liveAccount(id: download.account)
        guard account != nil || download.account == 0 else { return nil }
        if zone.owner != OwnerID(rawValue: download.account) {
            guard try reader.hasAssetReference(download.content, zone: zone, record: download.recordName),
                try mayRead(account, schema, reader)
            else { return nil }
        }
        return try reader.asset(owner: zone.owner, content: download.content).map { ($0, account) }
    }

    private func mayRead(
        _ account: AccountRow?, _ schema: () throws -> Schema, _ reader: StorageReader
    ) throws -> Bool {
        let (zone, name) = (download.zone, download.recordName)
        guard zone.owner == .everyone else {
            return try SharedAsset(zone, account: download.account, reader)?.mayRead(name) ?? false
        }
        guard let record = try reader.record(zone: zone, named: name), !record.isDeleted else { return false }
        return RecordPermissions(.public, account: account, try schema()).mayRead(record)
    }
}
