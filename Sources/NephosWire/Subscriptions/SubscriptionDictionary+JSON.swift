extension SubscriptionDictionary: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var type: JSONValue?
        self.init(subscriptionID: nil, subscriptionType: .query)
        for (key, value) in try json.members("a subscription") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "subscriptionID", "subscriptionId": subscriptionID = try value.string()
            case "subscriptionType": type = value
            case "query": query = try Query(json: value)
            case "firesOn":
                firesOn = Set(
                    try value.elements("an array of create, update and delete") { (trigger) throws(WireError) in
                        try trigger.oneOf(Trigger.self, names: Trigger.allCases.map(\.rawValue))
                    })
            case "firesOnce": firesOnce = try value.bool()
            case "zoneID": zoneID = try ZoneIDDictionary(json: value)
            case "zoneWide": zoneWide = try value.bool()
            case "recordType": recordType = try value.string()
            case "notificationInfo": notificationInfo = try NotificationInfoDictionary(json: value)
            default: break
            }
        }
        let names = SubscriptionType.allCases.map(\.rawValue)
        guard let type else { throw json.missing("subscriptionType", "one of " + names.joined(separator: ", ")) }
        subscriptionType = try type.oneOf(SubscriptionType.self, names: names)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("subscriptionID", subscriptionID)
        writer.member("subscriptionType", subscriptionType.rawValue)
        if let query {
            writer.key("query")
            query.write(to: &writer)
        }
        if subscriptionType == .query {
            writer.member("firesOn", Trigger.allCases.filter(firesOn.contains).map(\.rawValue))
            writer.key("firesOnce")
            writer.bool(firesOnce)
        }
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer, withType: true)
        }
        writer.flag("zoneWide", zoneWide)
        writer.member("recordType", recordType)
        if let notificationInfo {
            writer.key("notificationInfo")
            notificationInfo.write(to: &writer)
        }
        writer.endObject()
    }
}

extension NotificationInfoDictionary {
    init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members("a notification info") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "alertBody": alertBody = try value.string()
            case "alertLocalizationKey": alertLocalizationKey = try value.string()
            case "alertLocalizationArgs": alertLocalizationArgs = try value.arrayOfStrings()
            case "title": title = try value.string()
            case "titleLocalizationKey": titleLocalizationKey = try value.string()
            case "titleLocalizationArgs": titleLocalizationArgs = try value.arrayOfStrings()
            case "subtitle": subtitle = try value.string()
            case "subtitleLocalizationKey": subtitleLocalizationKey = try value.string()
            case "subtitleLocalizationArgs": subtitleLocalizationArgs = try value.arrayOfStrings()
            case "alertActionLocalizationKey": alertActionLocalizationKey = try value.string()
            case "alertLaunchImage": alertLaunchImage = try value.string()
            case "soundName": soundName = try value.string()
            case "additionalFields", "desiredKeys": additionalFields = try value.arrayOfStrings()
            case "shouldBadge": shouldBadge = try value.bool()
            case "shouldSendContentAvailable": shouldSendContentAvailable = try value.bool()
            case "shouldSendMutableContent": shouldSendMutableContent = try value.bool()
            case "category": category = try value.string()
            case "collapseIDKey": collapseIDKey = try value.string()
            default: break
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("alertBody", alertBody)
        writer.member("alertLocalizationKey", alertLocalizationKey)
        writer.member("alertLocalizationArgs", alertLocalizationArgs)
        writer.member("title", title)
        writer.member("titleLocalizationKey", titleLocalizationKey)
        writer.member("titleLocalizationArgs", titleLocalizationArgs)
        writer.member("subtitle", subtitle)
        writer.member("subtitleLocalizationKey", subtitleLocalizationKey)
        writer.member("subtitleLocalizationArgs", subtitleLocalizationArgs)
        writer.member("alertActionLocalizationKey", alertActionLocalizationKey)
        writer.member("alertLaunchImage", alertLaunchImage)
        writer.member("soundName", soundName)
        writer.member("additionalFields", additionalFields)
        writer.key("shouldBadge")
        writer.bool(shouldBadge)
        writer.key("shouldSendContentAvailable")
        writer.bool(shouldSendContentAvailable)
        writer.flag("shouldSendMutableContent", shouldSendMutableContent)
        writer.member("category", category)
        writer.member("collapseIDKey", collapseIDKey)
        writer.endObject()
    }
}
