/// The request of `zones/list`, one of Nephos' own routes: the custom zones in one account's or all accounts' private
/// databases.
package struct ListAccountZonesRequest: Hashable, Sendable {
    /// The account's name; nil for all accounts.
    package var account: String?
    /// The `continuationMarker` of the previous page; nil for the first page.
    package var continuationMarker: String?

    package init(account: String? = nil, continuationMarker: String? = nil) {
        self.account = account
        self.continuationMarker = continuationMarker
    }
}

/// The request of `zones/remove`, one of Nephos' own routes: removes zones of an account's private database, as the
/// account's user can.
package struct RemoveZonesRequest: Hashable, Sendable {
    package var account: String
    /// The zones' names; nil for all custom zones.
    package var zones: [String]?
    package var reason: ZoneDeletionReason

    package init(account: String, zones: [String]?, reason: ZoneDeletionReason) {
        self.account = account
        self.zones = zones
        self.reason = reason
    }
}

/// The answer of `zones/list` and `zones/remove`: the existing zones, or the removed zones.
package struct AccountZonesResponse: Hashable, Sendable {
    package struct Zone: Hashable, Sendable {
        package var account: String
        package var zoneName: String

        package init(account: String, zoneName: String) {
            self.account = account
            self.zoneName = zoneName
        }
    }

    package var zones: [Zone]
    /// The marker for the request of the next page; nil on the last page.
    package var continuationMarker: String?

    package init(zones: [Zone], continuationMarker: String? = nil) {
        self.zones = zones
        self.continuationMarker = continuationMarker
    }
}

extension ListAccountZonesRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .optional("account", \.account, .string),
        .optional("continuationMarker", \.continuationMarker, .string))
}

extension RemoveZonesRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("account", \.account, .string), .optional("zones", \.zones, .strings),
        .required("reason", \.reason, .name, "a reason"))
}

extension AccountZonesResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .member("zones", \.zones, .array("an array of zones", of: Zone.codec), ifAbsent: []),
        .optional("continuationMarker", \.continuationMarker, .string))
}

extension AccountZonesResponse.Zone {
    fileprivate static let codec = Codec<Self>(
        Self.init, .required("account", \.account, .string), .required("zoneName", \.zoneName, .string))
}
