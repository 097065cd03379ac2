import FoundationEssentials
import NephosStorage
import NephosWire

/// `tokens/create` and `tokens/register`: the push tokens of clients that receive an account's notifications.
///
/// A token that the service creates is a secret with which its client polls. A token that a client registers belongs to
/// the client's device, and a push service delivers by it. The client of such a token may poll too, and counts as
/// polling from its first poll.
struct PushTokens {
    let request: TokenRequest
    let account: AccountRow
    /// The client's own name; empty if the client sends none.
    let client: String
    let environment: ServiceEnvironment

    init(
        _ request: TokenRequest, caller: Caller, environment: ServiceEnvironment
    ) throws(ServiceError) {
        account = try caller.requireAccount()
        self.request = request
        self.environment = environment
        client = request.clientID ?? caller.clientID ?? ""
        guard client.utf8.count <= Limits.clientIDLength else {
            throw .invalid("clientId must not exceed \(Limits.clientIDLength) bytes")
        }
    }

    // MARK: tokens/create

    /// Returns the token of the client, or a new token if the client has none.
    func create(in transaction: StorageTransaction) throws -> PushTokenRow {
        let known = try transaction.pushTokens(account: account.id).first { token in
            !client.isEmpty && token.client.hasSameBytes(as: client) && !token.isDevice
        }
        return try put(known ?? courier(Self.make(environment)), in: transaction)
    }

    private static let prefix = "neph"

    /// Returns a new token: 64 unguessable hexadecimal digits after a prefix of four letters that distinguishes the
    /// token from a device's token. The text is valid base64, because clients decode tokens from base64.
    private static func make(_ environment: ServiceEnvironment) -> String {
        prefix + (environment.makeUUID() + environment.makeUUID()).filter { $0 != "-" }.lowercased()
    }

    // MARK: tokens/register

    func register(in transaction: StorageTransaction) throws -> PushTokenRow {
        guard let token = request.apnsToken else {
            throw ServiceError.invalid("apnsToken: expected the token in base64, found nothing")
        }
        guard token.utf8.count <= Limits.pushTokenLength, let bytes = Self.bytes(of: token), !bytes.isEmpty else {
            throw ServiceError.invalid(
                "apnsToken must hold 1 to \(Limits.pushTokenLength) characters of base64")
        }
        let isOwn = token.hasPrefix(Self.prefix) && token.utf8.count == Self.prefix.utf8.count + 64
        guard var known = try transaction.pushToken(token) else {
            return try put(isOwn ? courier(token) : device(token), in: transaction)
        }
        if known.account != account.id {
            // A courier token is a secret of its account. A device's token changes to the account that signs in on the
            // device.
            if isOwn {
                throw ServiceError(
                    .accessDenied, .permissionFailure, "the apnsToken belongs to another account: create a new one")
            }
            try Self.forget(known, in: transaction)
            known = device(token)
        }
        if !client.isEmpty { known.client = client }
        return try put(known, in: transaction)
    }

    /// The bytes of a device's token, in base64 or, as some clients send it, in hexadecimal; nil for other texts.
    static func bytes(of token: String) -> [UInt8]? {
        if token.utf8.count == 64, token.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) {
            let digits = token.compactMap { $0.hexDigitValue.map(UInt8.init) }
            return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        }
        return Data(base64Encoded: token).map { Array($0) }
    }

    // MARK: Rows

    private func courier(_ token: String) -> PushTokenRow {
        PushTokenRow(
            token: token, account: account.id, client: client, environment: request.apnsEnvironment.rawValue,
            isDevice: false, polls: true, seenAt: 0)
    }

    private func device(_ token: String) -> PushTokenRow {
        PushTokenRow(
            token: token, account: account.id, client: client, environment: request.apnsEnvironment.rawValue,
            isDevice: true, polls: false, seenAt: 0)
    }

    private func put(_ row: PushTokenRow, in transaction: StorageTransaction) throws -> PushTokenRow {
        var row = row
        let now = environment.now()
        row.seenAt = now
        row.environment = request.apnsEnvironment.rawValue
        let others = try transaction.pushTokens(account: account.id).filter { $0.token != row.token }
            .sorted { $0.seenAt > $1.seenAt }
        for (index, old) in others.enumerated()
        where index >= Limits.pushTokensPerAccount - 1
            || !old.isDevice && old.seenAt < now - Limits.pushTokenLifetime
        {
            try Self.forget(old, in: transaction)
        }
        try transaction.put(row)
        return row
    }

    /// Removes a token together with its queued notifications.
    static func forget(_ row: PushTokenRow, in transaction: StorageTransaction) throws {
        try transaction.removePushToken(row.token)
        for destination in [OutboxDestination.courier(token: row.token), .device(token: row.token)] {
            try transaction.removeOutbox(account: row.account, destination: destination.text, keeping: 0)
        }
    }
}
