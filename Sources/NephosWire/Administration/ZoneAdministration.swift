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

extension ListAccountZonesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members() {
            switch key {
            case "account": account = try value.nonNull?.string()
            case "continuationMarker": continuationMarker = try value.nonNull?.string()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.member("continuationMarker", continuationMarker)
        writer.endObject()
    }
}

extension RemoveZonesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            account: try json.required("account", "a string") { (json) throws(WireError) in try json.string() },
            zones: nil,
            reason: try json.required("reason", "a reason") { (json) throws(WireError) in
                try json.oneOf(ZoneDeletionReason.self, names: ZoneDeletionReason.allCases.map(\.rawValue))
            })
        for (key, value) in try json.members() where "zones" ~= key {
            zones = try value.nonNull?.arrayOfStrings()
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.member("zones", zones)
        writer.member("reason", reason.rawValue)
        writer.endObject()
    }
}

extension AccountZonesResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(zones: [])
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "zones":
                zones = try value.elements("an array of zones") { (zone) throws(WireError) in
                    Zone(
                        account: try zone.required("account", "a string") { (json) throws(WireError) in
                            try json.string()
                        },
                        zoneName: try zone.required("zoneName", "a string") { (json) throws(WireError) in
                            try json.string()
                        })
                }
            case "continuationMarker": continuationMarker = try value.string()
            default: break
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for zone in zones {
            writer.beginObject()
            writer.member("account", zone.account)
            writer.member("zoneName", zone.zoneName)
            writer.endObject()
        }
        writer.endArray()
        writer.member("continuationMarker", continuationMarker)
        writer.endObject()
    }
}
