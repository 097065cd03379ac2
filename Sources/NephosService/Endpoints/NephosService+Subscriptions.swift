import NephosStorage
package import NephosWire

extension NephosService {
    // MARK: - Subscriptions

    /// Returns the caller's subscriptions to a database (CloudKit Web Services, subscriptions/list).
    package func listSubscriptions(_ context: RequestContext) async throws(ServiceError) -> SubscriptionsResponse {
        try await perform(context, reads: true) { store, caller in
            let account = try caller.requireAccount()
            return try await store.read(by: caller) { try SubscriptionLookup.list(caller, account, $0) }
        }
    }

    /// Finds the caller's subscriptions by ID (CloudKit Web Services, subscriptions/lookup).
    package func lookupSubscriptions(
        _ request: LookupSubscriptionsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> SubscriptionsResponse {
        try await perform(context, reads: true) { store, caller in
            let account = try caller.requireAccount()
            return try await store.read(by: caller) { try SubscriptionLookup.lookup(request, caller, account, $0) }
        }
    }

    /// Saves and deletes subscriptions (CloudKit Web Services, subscriptions/modify).
    package func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> SubscriptionsResponse {
        try await perform(context) { store, caller in
            let modify = try ModifySubscriptions(
                request, caller: caller, container: context.container, environment: self.environment,
                configuration: self.configuration, watched: store.watched)
            return try await store.write(by: caller) { transaction in
                try modify.apply(store.schemas, in: transaction)
            }
        }
    }

    // MARK: - Push tokens

    /// Creates a token with which the client polls for its account's notifications (CloudKit Web Services,
    /// tokens/create).
    ///
    /// `webcourierURL` in the response is a path; the transport prepends the server's address.
    package func createToken(
        _ request: TokenRequest, _ context: RequestContext
    ) async throws(ServiceError) -> TokenResponse {
        try await perform(context) { store, caller in
            let tokens = try PushTokens(request, caller: caller, environment: self.environment)
            let row = try await store.write(by: caller) { try tokens.create(in: $0) }
            return Self.answer(row.token, request, context, store)
        }
    }

    /// Takes the notifications that wait for a token's client out of the service, the oldest first. Waits for none.
    package func takeNotifications(
        token: String, _ context: RequestContext
    ) async throws(ServiceError) -> [[UInt8]] {
        try await perform(context) { store, _ in
            let destination = OutboxDestination.courier(token: token).text
            return try await store.engine.write { transaction in
                guard let client = try transaction.pushToken(token) else { throw ServiceError.unknownPushToken }
                let rows = try transaction.outbox(
                    account: client.account, destination: destination, limit: Limits.notificationsPerRead)
                for row in rows {
                    try transaction.removeOutbox(account: client.account, destination: destination, id: row.id)
                }
                return rows.map(\.payload)
            }
        }
    }

    /// Registers the push token of a device for notifications (CloudKit Web Services, tokens/register).
    package func registerToken(
        _ request: TokenRequest, _ context: RequestContext
    ) async throws(ServiceError) -> TokenResponse {
        try await perform(context) { store, caller in
            let tokens = try PushTokens(request, caller: caller, environment: self.environment)
            let row = try await store.write(by: caller) { try tokens.register(in: $0) }
            return Self.answer(row.token, request, context, store)
        }
    }

    private static func answer(
        _ token: String, _ request: TokenRequest, _ context: RequestContext, _ store: Store
    ) -> TokenResponse {
        // The poll ends with the session.
        let session = context.session.map { session in
            "/" + TokenCodec(key: store.key, database: "").text(Array(session.utf8), for: .poll, of: Array(token.utf8))
        }
        // These characters of base64 must be escaped in a component of a path.
        let component = token.utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "/"): text += "%2F"
            case UInt8(ascii: "+"): text += "%2B"
            case UInt8(ascii: "="): text += "%3D"
            default: text.unicodeScalars.append(UnicodeScalar(byte))
            }
        }
        return TokenResponse(
            apnsEnvironment: request.apnsEnvironment, apnsToken: token,
            webcourierURL:
                "\(context.baseURL)/courier/1/\(context.container)/\(context.environment.rawValue)/\(component)"
                + (session ?? ""))
    }

    // MARK: - Polls

    /// Long-polls for the next notification of a push token (CloudKit Web Services, web courier). The push token
    /// determines the account, so the context's account and database are ignored.
    /// - Parameters:
    ///   - account: the name of the account that made the poll's address; nil where the token alone is the secret.
    ///   - waits: whether to wait for a notification if there is none.
    /// - Returns: the notification; nil if none was sent within the poll's duration.
    /// - Throws: `unknownItem` for an unknown token, and for one that another account has now.
    package func nextNotification(
        token: String, of account: String? = nil, receipt: LongPollRegistry.Receipt, waits: Bool = true,
        _ context: RequestContext
    ) async throws(ServiceError) -> PolledNotification? {
        var context = context
        context.account = nil
        if hasEndedPolls { return nil }
        return try await perform(context) { store, _ in
            try await LongPoll(
                token: token, account: account, receipt: receipt, waits: waits, store: store,
                environment: self.environment
            ).next()
        }
    }

    /// Returns the session to which a poll belongs, by what the address of its token has.
    /// - Throws: `unknownItem` unless this service made the address.
    package func session(
        ofPoll text: String?, token: String, _ context: RequestContext
    ) async throws(ServiceError) -> String {
        try await perform(context) { store, _ in
            let codec = TokenCodec(key: store.key, database: "")
            guard let content = text.flatMap({ codec.content(of: $0, for: .poll, of: Array(token.utf8)) }) else {
                throw ServiceError.unknownPushToken
            }
            return String(decoding: content, as: UTF8.self)
        }
    }

    /// Returns once all committed changes have been fanned out to subscribers.
    func tellSubscribers() async {
        for store in openStores { await store.fanOut.settle() }
    }

    /// The number of waiting long polls, over all open stores.
    package var waitingPolls: Int { openStores.reduce(0) { $0 + $1.longPolls.waiting } }
}
