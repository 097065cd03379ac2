import FoundationEssentials
import NephosCrypto
import NephosStorage

extension ZoneKey {
    /// Whether the zone is in the private database of an account other than this one.
    func isShared(with account: Int64) -> Bool { owner != .everyone && owner.rawValue != account }
}

/// The destination of a file: a field of a record, saved by an account.
struct AssetTarget: Equatable, Sendable {
    var zone: ZoneKey
    var account: Int64
    var recordName: String
    var fieldName: String

    /// The target that includes every field of every record of the zone, for a file that the account can already read.
    static func anyField(in zone: ZoneKey, account: Int64) -> AssetTarget {
        AssetTarget(zone: zone, account: account, recordName: "", fieldName: "")
    }

    var isAnyField: Bool { recordName.isEmpty && fieldName.isEmpty }

    /// Whether a receipt for this target is valid for `target`.
    func includes(_ target: AssetTarget) -> Bool {
        self == target || self == .anyField(in: target.zone, account: target.account)
    }
}

/// Encodes and decodes the authenticated tokens with which clients upload, save and download files. Each token grants
/// one operation, and its bearer needs no account. A token cannot be forged or changed.
struct AssetTokens: Sendable {
    let key: AuthenticationKey
    /// The container and environment for which the tokens are valid.
    let place: StoreID

    private enum Purpose: String {
        case assetUpload, assetReceipt, assetDownload
    }

    /// The token that grants the upload of one file.
    struct Upload: Equatable, Sendable {
        var target: AssetTarget
        /// Whether the target is in a private or shared database. Files there have more attributes (`wrappingKey`,
        /// `referenceChecksum`).
        var isPrivate: Bool
        /// Whether the client seals (encrypts) the file.
        var isSealed = false
        /// The time at which the token expires, in milliseconds since 1970.
        var expires: Int64
        /// The name of the session that asked for the token, with which the upload ends; empty for none.
        var session = ""

        fileprivate var flags: UInt8 { (isPrivate ? 1 : 0) | (isSealed ? 2 : 0) }
    }

    /// The token that grants saving one uploaded file.
    struct Receipt: Equatable, Sendable {
        var target: AssetTarget
        var content: [UInt8]
        var size: Int64
        var expires: Int64
    }

    /// The token that grants the download of one file to a reader of the zone's records.
    struct Download: Equatable, Sendable {
        var zone: ZoneKey
        /// The ID of the reader's account; 0 for no account.
        var account: Int64
        /// The name of the record that, at the time of the download, must still refer to the file and be readable by
        /// the account. Empty if the zone is in the account's own database.
        var recordName = ""
        var content: [UInt8]
        var size: Int64
        var expires: Int64
    }

    /// Whether a token with this lifetime and expiry is valid now: it has not expired, and was not issued in the
    /// future. Allows for `Limits.clockSkew` between servers.
    static func isGood(until expires: Int64, lifetime: Int64, now: Int64) -> Bool {
        (-Limits.clockSkew...lifetime + Limits.clockSkew).contains(expires - now)
    }

    func text(_ token: Upload) -> String {
        text(
            .assetUpload,
            Self.bytes(token.target) + [token.flags] + Self.bytes(token.expires) + Array(token.session.utf8))
    }

    func text(_ token: Receipt) -> String {
        text(
            .assetReceipt,
            Self.bytes(token.target) + Self.bytes(token.size) + Self.bytes(token.expires) + token.content)
    }

    func text(_ token: Download) -> String {
        text(
            .assetDownload,
            Self.bytes(token.zone.owner.rawValue) + Self.bytes(token.zone.id) + Self.bytes(token.account)
                + Self.bytes(token.size) + Self.bytes(token.expires) + Self.bytes(token.recordName) + token.content)
    }

    /// Decodes an upload token; nil if the text is not an upload token of this store.
    func upload(_ text: String) -> Upload? {
        guard var reader = reader(text, .assetUpload), let target = reader.target(), let flags = reader.byte(),
            let expires = reader.integer()
        else { return nil }
        return Upload(
            target: target, isPrivate: flags & 1 != 0, isSealed: flags & 2 != 0, expires: expires,
            session: String(decoding: reader.rest, as: UTF8.self))
    }

    /// Decodes a receipt; nil if the text is not a receipt of this store.
    func receipt(_ text: String) -> Receipt? {
        guard var reader = reader(text, .assetReceipt), let target = reader.target(), let size = reader.integer(),
            let expires = reader.integer()
        else { return nil }
        return Receipt(target: target, content: Array(reader.rest), size: size, expires: expires)
    }

    /// Decodes a download token; nil if the text is not a download token of this store.
    func download(_ text: String) -> Download? {
        guard var reader = reader(text, .assetDownload), let owner = reader.integer(), let zone = reader.integer(),
            let account = reader.integer(), let size = reader.integer(), let expires = reader.integer(),
            let recordName = reader.text()
        else { return nil }
        return Download(
            zone: ZoneKey(owner: OwnerID(rawValue: owner), id: zone), account: account, recordName: recordName,
            content: Array(reader.rest), size: size, expires: expires)
    }

    // MARK: Bytes

    private var context: [UInt8] { Array("\(place.container)\0\(place.environment)".utf8) }

    private func text(_ purpose: Purpose, _ content: [UInt8]) -> String {
        AuthenticatedToken(content).text(key, purpose: purpose.rawValue, context: context)
    }

    private func reader(_ text: String, _ purpose: Purpose) -> Reader? {
        AuthenticatedToken(text, key, purpose: purpose.rawValue, context: context).map { Reader(rest: $0.content[...]) }
    }

    private static func bytes(_ target: AssetTarget) -> [UInt8] {
        bytes(target.zone.owner.rawValue) + bytes(target.zone.id) + bytes(target.account) + bytes(target.recordName)
            + bytes(target.fieldName)
    }

    private static func bytes(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static func bytes(_ text: String) -> [UInt8] { bytes(Int64(text.utf8.count)) + Array(text.utf8) }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func byte() -> UInt8? { rest.popFirst() }

        mutating func integer() -> Int64? {
            guard rest.count >= 8 else { return nil }
            defer { rest = rest.dropFirst(8) }
            return Int64(bitPattern: rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        }

        mutating func text() -> String? {
            guard let count = integer(), count >= 0, count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return String(decoding: rest.prefix(Int(count)), as: UTF8.self)
        }

        mutating func target() -> AssetTarget? {
            guard let owner = integer(), let zone = integer(), let account = integer(), let record = text(),
                let field = text()
            else { return nil }
            return AssetTarget(
                zone: ZoneKey(owner: OwnerID(rawValue: owner), id: zone), account: account, recordName: record,
                fieldName: field)
        }
    }
}

/// Converts the hash of a content to the content's name, which is the hash in hexadecimal digits, and back.
enum AssetContent {
    static func name(_ content: [UInt8]) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * content.count)
        for byte in content {
            for half in [byte >> 4, byte & 15] {
                digits.append(half < 10 ? UInt8(ascii: "0") + half : UInt8(ascii: "a") + half - 10)
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The hash of the content with this name; nil if the text is not such a name.
    static func content(named name: String) -> [UInt8]? {
        let digits = Array(name.utf8)
        guard digits.count == 64 else { return nil }
        var content: [UInt8] = []
        content.reserveCapacity(32)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = half(digits[index]), let low = half(digits[index + 1]) else { return nil }
            content.append(high << 4 | low)
        }
        return content
    }

    private static func half(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension AssetTokens {
    // Attributes that Apple's service adds to the checksums of private databases' files. This server encrypts nothing
    // with these attributes.

    /// The file's `wrappingKey`: 16 bytes in base64.
    func wrappingKey(_ asset: AssetRow) -> String {
        Data(derived("wrappingKey", asset).prefix(16)).base64EncodedString()
    }

    /// The file's `referenceChecksum`: 21 bytes in base64, as many as a `fileChecksum` has.
    func referenceChecksum(_ asset: AssetRow) -> String {
        Data([1] + derived("referenceChecksum", asset).prefix(20)).base64EncodedString()
    }

    private func derived(_ purpose: String, _ asset: AssetRow) -> [UInt8] {
        let hash = StreamingHash(.blake2b)
        hash.update(key.bytes)
        hash.update(Array(purpose.utf8))
        hash.update(Self.bytes(asset.owner.rawValue))
        hash.update(asset.content)
        return hash.finish()
    }
}
