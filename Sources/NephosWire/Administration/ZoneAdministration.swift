/// `zones/list` of Nephos' own routes: the custom zones of one account's private database, or of every account's.
package struct ListAccountZonesRequest: Hashable, Sendable {
    /// The account's name; nil for every account.
    package var account: String?
    /// The position after the previous page.
    package var continuationMarker: String?

    package init(account: String? = nil, continuationMarker: String? = nil) {
        self.account = account
        self.continuationMarker = continuationMarker
    }
}

/// `zones/remove` of Nephos' own routes: removes zones of an account's private database, as their user does.
package struct RemoveZonesRequest: Hashable, Sendable {
    package var account: String
    /// The zones' names; nil for every custom zone.
    package var zones: [String]?
    package var reason: ZoneDeletionReason

    package init(account: String, zones: [String]?, reason: ZoneDeletionReason) {
        self.account = account
        self.zones = zones
        self.reason = reason
    }
}

/// The answer of both: the existing zones, or the removed ones.
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
    /// The marker of the next page; nil on the last.
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
