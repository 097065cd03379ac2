extension NotificationPayload: WireMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("aps")
        writeNotification(to: &writer)
        writer.key("ck")
        writer.beginObject()
        writer.key("ce")
        writer.int64(2)
        writer.member("cid", containerIdentifier)
        writer.member("ckuserid", userRecordName)
        writer.member("nid", notificationID)
        if isPruned {
            writer.key("p")
            writer.int64(1)
        }
        switch kind {
        case .query(let recordName, let reason, let fields):
            writer.key("qry")
            writer.beginObject()
            writer.member("rid", recordName)
            writer.member("fo", reason?.rawValue)
            writeSubject(to: &writer)
            Self.write(fields, to: &writer)
            writer.endObject()
        case .zone, .database:
            if kind == .zone { writer.key("fet") } else { writer.key("met") }
            writer.beginObject()
            writeSubject(to: &writer)
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
    }

    private func writeNotification(to writer: inout JSONWriter) {
        writer.beginObject()
        let hasAlert =
            !alert.isEmpty || !title.isEmpty || !subtitle.isEmpty || alertActionLocalizationKey != nil
            || alertLaunchImage != nil
        if hasAlert {
            writer.key("alert")
            writer.beginObject()
            writer.member("title", title.text)
            writer.member("title-loc-key", title.localizationKey)
            writer.member("title-loc-args", title.localizationArgs)
            writer.member("subtitle", subtitle.text)
            writer.member("subtitle-loc-key", subtitle.localizationKey)
            writer.member("subtitle-loc-args", subtitle.localizationArgs)
            writer.member("body", alert.text)
            writer.member("loc-key", alert.localizationKey)
            writer.member("loc-args", alert.localizationArgs)
            writer.member("action-loc-key", alertActionLocalizationKey)
            writer.member("launch-image", alertLaunchImage)
            writer.endObject()
        }
        writer.member("badge", badge)
        writer.member("sound", soundName)
        writer.member("category", category)
        if isContentAvailable {
            writer.key("content-available")
            writer.int64(1)
        }
        if isMutableContent {
            writer.key("mutable-content")
            writer.int64(1)
        }
        writer.endObject()
    }

    /// Writes the ID of the subscription, and the changed database or zone.
    private func writeSubject(to writer: inout JSONWriter) {
        writer.member("sid", subscriptionID)
        writer.member("zid", zoneID?.zoneName)
        writer.member("zoid", zoneID?.ownerRecordName)
        writer.member("dbs", databaseScope.rawValue)
    }

    /// Writes the fields' values without types, as Apple does. Writes a type in `aft` only if the value's JSON does not
    /// determine it.
    private static func write(_ fields: [String: FieldValue], to writer: inout JSONWriter) {
        if fields.isEmpty { return }
        let sorted = fields.sorted { $0.key < $1.key }
        writer.key("af")
        writer.beginObject()
        for (name, value) in sorted {
            writer.key(name)
            if case .reference(let reference) = value {
                writer.string(reference.recordName)
            } else {
                value.write(to: &writer)
            }
        }
        writer.endObject()
        let typed = sorted.filter { needsType($0.value) }
        if typed.isEmpty { return }
        writer.key("aft")
        writer.beginObject()
        for (name, value) in typed {
            writer.key(name)
            writer.string(value.type.wireName)
        }
        writer.endObject()
    }

    private static func needsType(_ value: FieldValue) -> Bool {
        switch value {
        case .string, .int64: false
        case .double(let number): Int64(exactly: number) != nil
        default: true
        }
    }
}

// MARK: - Reading

extension NotificationPayload {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            .database, notificationID: nil, containerIdentifier: nil, userRecordName: nil, subscriptionID: nil,
            databaseScope: .public, zoneID: nil)
        var details: JSONValue?
        for (key, value) in try json.members("a notification") {
            guard let value = value.nonNull else { continue }
            switch key {
            case "aps": try readNotification(value)
            case "ck": details = value
            default: break
            }
        }
        guard let details else { throw json.missing("ck", "an object") }
        try readDetails(details)
    }

    private mutating func readNotification(_ json: JSONValue) throws(WireError) {
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "alert":
                if value.isObject { try readAlert(value) } else { alert.text = try value.string() }
            case "badge": badge = Int(try value.int64())
            case "sound": soundName = try value.string()
            case "category": category = try value.string()
            case "content-available": isContentAvailable = try value.int64() == 1
            case "mutable-content": isMutableContent = try value.int64() == 1
            default: break
            }
        }
    }

    private mutating func readAlert(_ json: JSONValue) throws(WireError) {
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "title": title.text = try value.string()
            case "title-loc-key": title.localizationKey = try value.string()
            case "title-loc-args": title.localizationArgs = try value.arrayOfStrings()
            case "subtitle": subtitle.text = try value.string()
            case "subtitle-loc-key": subtitle.localizationKey = try value.string()
            case "subtitle-loc-args": subtitle.localizationArgs = try value.arrayOfStrings()
            case "body": alert.text = try value.string()
            case "loc-key": alert.localizationKey = try value.string()
            case "loc-args": alert.localizationArgs = try value.arrayOfStrings()
            case "action-loc-key": alertActionLocalizationKey = try value.string()
            case "launch-image": alertLaunchImage = try value.string()
            default: break
            }
        }
    }

    private mutating func readDetails(_ json: JSONValue) throws(WireError) {
        var isKnown = false
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "cid": containerIdentifier = try value.string()
            case "ckuserid": userRecordName = try value.string()
            case "nid": notificationID = try value.string()
            case "p": isPruned = try value.int64() == 1
            case "qry":
                kind = .query(recordName: nil, reason: nil, fields: [:])
                try readSubject(value)
                isKnown = true
            case "fet":
                kind = .zone
                try readSubject(value)
                isKnown = true
            case "met":
                kind = .database
                try readSubject(value)
                isKnown = true
            default: break
            }
        }
        guard isKnown else { throw json.failure("expected one of qry, fet and met") }
    }

    private mutating func readSubject(_ json: JSONValue) throws(WireError) {
        var recordName: String?
        var reason: Reason?
        var zoneName: String?
        var owner: String?
        var fields: JSONValue?
        var types: JSONValue?
        for (key, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            switch key {
            case "sid": subscriptionID = try value.string()
            case "rid": recordName = try value.string()
            case "fo":
                reason = Reason(rawValue: Int(try value.int64()))
                if reason == nil { throw value.mismatch("1, 2 or 3") }
            case "zid": zoneName = try value.string()
            case "zoid": owner = try value.string()
            case "dbs":
                guard let scope = DatabaseScope(rawValue: Int(try value.int64())) else {
                    throw value.mismatch("0, 1 or 2")
                }
                databaseScope = scope
            case "af": fields = value
            case "aft": types = value
            default: break
            }
        }
        if let zoneName { zoneID = ZoneIDDictionary(zoneName: zoneName, ownerRecordName: owner) }
        guard case .query = kind else { return }
        kind = .query(recordName: recordName, reason: reason, fields: try Self.fields(fields, types))
    }

    private static func fields(_ json: JSONValue?, _ types: JSONValue?) throws(WireError) -> [String: FieldValue] {
        guard let json else { return [:] }
        var names: [String: String] = [:]
        if let types {
            for (name, type) in try types.members() { names[name.string] = try type.string() }
        }
        var fields: [String: FieldValue] = [:]
        for (name, value) in try json.members() {
            guard let value = value.nonNull else { continue }
            fields[name.string] = try field(value, type: names[name.string])
        }
        return fields
    }

    private static func field(_ json: JSONValue, type: String?) throws(WireError) -> FieldValue {
        switch type {
        case "TIMESTAMP": .timestamp(Timestamp(milliseconds: try json.int64()))
        case "REFERENCE": .reference(ReferenceValue(recordName: try json.string()))
        case "LOCATION": .location(try LocationValue(json: json))
        case "DOUBLE": .double(try json.double())
        default:
            switch json.tag {
            case JSONValue.Tag.int64: .int64(try json.int64())
            case JSONValue.Tag.double, JSONValue.Tag.uint64: .double(try json.double())
            default: .string(try json.content())
            }
        }
    }
}
