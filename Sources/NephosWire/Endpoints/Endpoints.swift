// The endpoints, by entity (CloudKit Web Services). The endpoints `keys/…`, `users/participants` and
// `users/webAuthToken` are our additions.

extension Endpoint where Request == ModifyRecordsRequest, Response == RecordsResponse {
    package static var modifyRecords: Self { Self("records/modify", retry: .requestKey(\.requestKey)) }
}

extension Endpoint where Request == LookupRecordsRequest, Response == RecordsResponse {
    package static var lookupRecords: Self { Self("records/lookup", retry: .idempotent) }
}

extension Endpoint where Request == QueryRecordsRequest, Response == QueryRecordsResponse {
    package static var queryRecords: Self { Self("records/query", retry: .idempotent) }
}

extension Endpoint where Request == RecordChangesRequest, Response == RecordChangesResponse {
    package static var recordChanges: Self { Self("records/changes", retry: .idempotent) }
}

extension Endpoint where Request == ShortGUIDsRequest, Response == RecordInfosResponse {
    package static var resolveShares: Self { Self("records/resolve", use: .reads) }
    package static var acceptShares: Self { Self("records/accept") }
}

extension Endpoint where Request == ShortGUIDsRequest, Response == AccessRequestsResponse {
    package static var requestShareAccess: Self { Self("records/requestAccess", isAddition: true) }
}

extension Endpoint where Request == EmptyRequest, Response == ZonesResponse {
    package static var listZones: Self { Self("zones/list", method: .getOrPost, retry: .idempotent) }
}

extension Endpoint where Request == LookupZonesRequest, Response == ZonesResponse {
    package static var lookupZones: Self { Self("zones/lookup", retry: .idempotent) }
}

extension Endpoint where Request == ModifyZonesRequest, Response == ZonesResponse {
    package static var modifyZones: Self { Self("zones/modify") }
}

extension Endpoint where Request == RecordZoneChangesRequest, Response == RecordZoneChangesResponse {
    package static var recordZoneChanges: Self { Self("changes/zone", retry: .idempotent) }
}

extension Endpoint where Request == DatabaseChangesRequest, Response == DatabaseChangesResponse {
    package static var databaseChanges: Self { Self("changes/database", retry: .idempotent) }
    /// The former name of `changes/database`.
    package static var zoneChanges: Self { Self("zones/changes", retry: .idempotent) }
}

extension Endpoint where Request == EmptyRequest, Response == SubscriptionsResponse {
    package static var listSubscriptions: Self { Self("subscriptions/list", method: .getOrPost, retry: .idempotent) }
}

extension Endpoint where Request == LookupSubscriptionsRequest, Response == SubscriptionsResponse {
    package static var lookupSubscriptions: Self { Self("subscriptions/lookup", retry: .idempotent) }
}

extension Endpoint where Request == ModifySubscriptionsRequest, Response == SubscriptionsResponse {
    package static var modifySubscriptions: Self { Self("subscriptions/modify") }
}

extension Endpoint where Request == TokenRequest, Response == TokenResponse {
    /// Creates the token of a client's notifications. The service identifies the client by its client ID: it does not
    /// notify that client of the client's own changes, and returns the same token for a repeated request. The token
    /// belongs to the account, and covers every database.
    package static var createToken: Self { Self("tokens/create", module: .device, use: .credentials) }
    package static var registerToken: Self { Self("tokens/register", module: .device, use: .credentials) }
}

extension Endpoint where Request == AssetUploadRequest, Response == AssetUploadResponse {
    package static var assetUploads: Self { Self("assets/upload") }
}

extension Endpoint where Request == RereferenceRequest, Response == RereferenceResponse {
    package static var rereferenceAssets: Self { Self("assets/rereference") }
}

extension Endpoint where Request == EmptyKeysRequest, Response == AccountKeysResponse {
    package static var accountKeys: Self { Self("keys/account", retry: .idempotent, isAddition: true) }
    package static var resetKeys: Self { Self("keys/reset", use: .credentials, isAddition: true) }
}

extension Endpoint where Request == EnrollRequest, Response == AccountKeysResponse {
    package static var enroll: Self { Self("keys/enroll", use: .credentials, isAddition: true) }
}

extension Endpoint where Request == LookupKeysRequest, Response == KeysResponse {
    package static var lookupKeys: Self { Self("keys/lookup", retry: .idempotent, isAddition: true) }
}

extension Endpoint where Request == PutGroupKeyRequest, Response == KeysResponse {
    package static var putGroupKey: Self { Self("keys/group", use: .credentials, isAddition: true) }
}

extension Endpoint where Request == EmptyRequest, Response == UserDictionary {
    package static var currentUser: Self { Self("users/current", method: .getOrPost, retry: .idempotent) }
    /// The newer name of `users/current`.
    package static var caller: Self { Self("users/caller", method: .getOrPost, retry: .idempotent) }
}

extension Endpoint where Request == UserLookupRequest, Response == ParticipantLookupResponse {
    package static var lookUpParticipants: Self { Self("users/participants", use: .reads, isAddition: true) }
}

extension Endpoint where Request == UserLookupRequest, Response == UsersResponse {
    package static var discoverUsers: Self { Self("users/discover", method: .getOrPost, retry: .idempotent) }
    package static var lookUpUsersByEmail: Self { Self("users/lookup/email", retry: .idempotent) }
    package static var lookUpUsersByID: Self { Self("users/lookup/id", retry: .idempotent) }
    package static var lookUpContacts: Self { Self("users/lookup/contacts", method: .getOrPost, retry: .idempotent) }
}

extension Endpoint where Request == WebAuthTokenRequest, Response == WebAuthTokenResponse {
    package static var webAuthToken: Self { Self("users/webAuthToken", use: .credentials, isAddition: true) }
}
