extension FieldValue {
    /// Writes the value. If `numbersAsStrings` is true, quotes INT64, DOUBLE and TIMESTAMP values.
    func write(to writer: inout JSONWriter, numbersAsStrings: Bool = false) {
        switch self {
        case .string(let value): writer.string(value)
        case .int64(let value): writer.int64(value, quoted: numbersAsStrings)
        case .timestamp(let value): writer.int64(value.milliseconds, quoted: numbersAsStrings)
        case .double(let value):
            numbersAsStrings ? writer.quoted(value) : writer.double(value)
        case .bytes(let value): writer.base64(value)
        case .location(let value): value.write(to: &writer)
        case .reference(let value): value.write(to: &writer)
        case .asset(let value): value.write(to: &writer)
        case .list(_, let elements):
            writer.beginArray()
            for element in elements { element.write(to: &writer, numbersAsStrings: numbersAsStrings) }
            writer.endArray()
        case .sealed(let value): writer.base64(value.bytes)
        }
    }
}

extension FieldValue {
    /// Writes `nephosSeconds` if a date is more precise than a millisecond.
    func writeSecondsBeyondMilliseconds(to writer: inout JSONWriter) {
        switch self {
        case .timestamp(let time):
            guard let seconds = time.secondsBeyondMilliseconds else { return }
            writer.key("nephosSeconds")
            writer.double(seconds)
        case .list(.timestamp, let elements):
            let seconds = elements.map(\.secondsBeyondMilliseconds)
            guard seconds.contains(where: { $0 != nil }) else { return }
            writer.key("nephosSeconds")
            writer.beginArray()
            for element in seconds { if let element { writer.double(element) } else { writer.null() } }
            writer.endArray()
        default: break
        }
    }

    private var secondsBeyondMilliseconds: Double? {
        if case .timestamp(let time) = self { time.secondsBeyondMilliseconds } else { nil }
    }
}

extension LocationValue {
    init(json: JSONValue) throws(WireError) {
        self.init(latitude: .nan, longitude: .nan)
        var milliseconds: Int64?
        var seconds: Double?
        var hasLatitude = false
        var hasLongitude = false
        for (key, value) in try json.members("a location") {
            switch key {
            case "latitude":
                latitude = try value.double()
                hasLatitude = true
            case "longitude":
                longitude = try value.double()
                hasLongitude = true
            case "horizontalAccuracy": horizontalAccuracy = try value.nonNull?.double()
            case "verticalAccuracy": verticalAccuracy = try value.nonNull?.double()
            case "altitude": altitude = try value.nonNull?.double()
            case "speed": speed = try value.nonNull?.double()
            case "course": course = try value.nonNull?.double()
            case "timestamp": milliseconds = try value.nonNull?.milliseconds()
            case "nephosSeconds": seconds = try value.nonNull?.double()
            default: break
            }
        }
        guard hasLatitude else { throw json.missing("latitude", "a number") }
        guard hasLongitude else { throw json.missing("longitude", "a number") }
        timestamp = milliseconds.map { Timestamp(milliseconds: $0, seconds: seconds) }
        if let milliseconds, let timestamp, timestamp.milliseconds != milliseconds {
            throw json.failure("the timestamp \(milliseconds) is no date that a double can say")
        }
    }

    func write(to writer: inout JSONWriter) {
        func member(_ name: StaticString, _ value: Double?) {
            guard let value else { return }
            writer.key(name)
            writer.double(value)
        }
        writer.beginObject()
        member("latitude", latitude)
        member("longitude", longitude)
        member("horizontalAccuracy", horizontalAccuracy)
        member("verticalAccuracy", verticalAccuracy)
        member("altitude", altitude)
        member("speed", speed)
        member("course", course)
        if let timestamp {
            writer.key("timestamp")
            writer.int64(timestamp.milliseconds)
            member("nephosSeconds", timestamp.secondsBeyondMilliseconds)
        }
        writer.endObject()
    }
}

extension ReferenceValue.Action {
    static let names = ["NONE", "DELETE_SELF", "VALIDATE"]
}

extension ReferenceValue {
    init(json: JSONValue) throws(WireError) {
        var name: JSONValue?
        var zone: JSONValue?
        var action: JSONValue?
        for (key, value) in try json.members("a reference") {
            switch key {
            case "recordName": name = value.nonNull
            case "zoneID": zone = value.nonNull
            case "action": action = value.nonNull
            default: break
            }
        }
        guard let name else { throw json.missing("recordName", "a string") }
        self.init(recordName: try name.string(), zoneID: try zone.map(ZoneIDDictionary.init(json:)))
        if let action { self.action = try action.oneOf(Action.self, names: Action.names) }
    }

    /// Writes the reference. `withAction` is false for a record's `parent` and `share`, which are sent without the
    /// action.
    func write(to writer: inout JSONWriter, withAction: Bool = true) {
        writer.beginObject()
        writer.key("recordName")
        writer.string(recordName)
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer)
        }
        if withAction {
            writer.key("action")
            switch action {
            case .none: writer.plain("NONE")
            case .deleteSelf: writer.plain("DELETE_SELF")
            case .validate: writer.plain("VALIDATE")
            }
        }
        writer.endObject()
    }
}

extension AssetValue {
    init(json: JSONValue) throws(WireError) {
        var checksum: JSONValue?
        var size: JSONValue?
        self.init(fileChecksum: "", size: 0)
        for (key, value) in try json.members("an asset") {
            switch key {
            case "fileChecksum": checksum = value.nonNull
            case "size": size = value.nonNull
            case "receipt": receipt = try value.nonNull?.string()
            case "wrappingKey": wrappingKey = try value.nonNull?.string()
            case "referenceChecksum": referenceChecksum = try value.nonNull?.string()
            case "downloadURL": downloadURL = try value.nonNull?.string()
            case "nephosContent": content = try value.nonNull?.string()
            case "nephosSeal": seal = try value.nonNull.map { (seal) throws(WireError) in .wrapped(try seal.bytes()) }
            default: break
            }
        }
        guard let checksum else { throw json.missing("fileChecksum", "a string") }
        guard let size else { throw json.missing("size", "an integer") }
        fileChecksum = try checksum.string()
        self.size = try size.int64()
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("fileChecksum")
        writer.string(fileChecksum)
        writer.key("size")
        writer.int64(size)
        writer.member("receipt", receipt)
        writer.member("wrappingKey", wrappingKey)
        writer.member("referenceChecksum", referenceChecksum)
        writer.member("downloadURL", downloadURL)
        writer.member("nephosContent", content)
        if case .wrapped(let bytes) = seal { writer.member("nephosSeal", base64: bytes) }
        writer.endObject()
    }
}
