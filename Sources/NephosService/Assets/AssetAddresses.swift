import NephosCrypto
import NephosStorage
import NephosWire

/// Makes a request's asset addresses and receipts: download addresses for the assets that it reads, receipts for those
/// that it saves.
struct AssetAddresses: Sendable {
    let tokens: AssetTokens
    /// The prefix of the addresses in responses (`RequestContext.baseURL`).
    private let baseURL: String
    /// The ID of the caller's account; 0 for no account.
    let account: Int64
    /// The time at which the request started, in milliseconds since 1970.
    let now: Int64
    /// Whether the store has any asset file. If it has none, records are not searched for assets.
    let hasAssets: Bool
    /// The maximum number of bytes of all asset files per database.
    let databaseLimit: Int64

    init(
        _ tokens: AssetTokens, baseURL: String, account: Int64 = 0, now: Int64, hasAssets: Bool, databaseLimit: Int64
    ) {
        self.tokens = tokens
        self.baseURL = baseURL
        self.account = account
        self.now = now
        self.hasAssets = hasAssets
        self.databaseLimit = databaseLimit
    }

    /// The prefix of asset addresses, for example
    /// `https://cloud.example.org/assets/1/iCloud.org.example.App/development`. Few responses have one.
    private var address: String {
        let place = tokens.place
        return "\(baseURL)/\(AssetAddress.module)/\(AssetAddress.version)/\(place.container)/\(place.environment)"
    }

    /// The address to which a client uploads a file for a field.
    /// - Parameter session: the name of the caller's session; nil without one.
    func uploadURL(for target: AssetTarget, isPrivate: Bool, isSealed: Bool, session: String?) -> String {
        let token = AssetTokens.Upload(
            target: target, isPrivate: isPrivate, isSealed: isSealed, expires: now + Limits.uploadLifetime,
            session: session ?? "")
        return "\(address)/\(AssetAddress.upload)/\(tokens.text(token))"
    }

    /// The form of an asset in a response to a caller that may read the asset. The download address ends with a
    /// placeholder, which the client replaces with a file name (CloudKit Web Services, Asset Dictionary).
    func linked(_ asset: AssetValue, in zone: ZoneKey, of recordName: () -> String) -> AssetValue {
        var linked = asset
        linked.content = nil
        guard let name = asset.content, let content = AssetContent.content(named: name) else { return linked }
        let token = AssetTokens.Download(
            zone: zone, account: account,
            recordName: zone.owner == OwnerID(rawValue: account) ? "" : recordName(), content: content,
            size: asset.size,
            expires: now + Limits.downloadLifetime)
        linked.downloadURL = "\(address)/\(name)/\(tokens.text(token))/${f}"
        return linked
    }

    /// The value with which a client saves an uploaded file in the target's field.
    func receipt(_ asset: AssetRow, for target: AssetTarget, isPrivate: Bool) -> AssetValue {
        let receipt = AssetTokens.Receipt(
            target: target, content: asset.content, size: asset.size, expires: now + Limits.receiptLifetime)
        var value = AssetValue(fileChecksum: asset.checksum, size: asset.size, receipt: tokens.text(receipt))
        if isPrivate {
            value.wrappingKey = tokens.wrappingKey(asset)
            value.referenceChecksum = tokens.referenceChecksum(asset)
        }
        return value
    }
}

/// The parts of asset addresses: `/assets/1/{container}/{environment}/upload/{token}` and
/// `/assets/1/{container}/{environment}/{content}/{token}/{file name}`.
package enum AssetAddress {
    package static let module = "assets"
    package static let version = "1"
    package static let upload = "upload"

    /// The content part of the asset address of a local file. Blocks the calling thread while reading the file.
    package static func content(ofFileAt path: String) throws -> String {
        let (source, hash) = (try FileSource(path), StreamingHash(.content))
        var offset: Int64 = 0
        while true {
            let piece = try source.read(at: offset)
            if piece.isEmpty { return AssetContent.name(hash.finish()) }
            hash.update(piece)
            offset += Int64(piece.count)
        }
    }

    /// Whether the text has the form of an address's content part.
    package static func isContent(_ text: String) -> Bool { AssetContent.content(named: text) != nil }
}
