extension AssetField {
    init(json: JSONValue) throws(WireError) {
        var field: JSONValue?
        self.init(recordName: nil, fieldName: "")
        for (key, value) in try json.members("an asset field") {
            let value = value.nonNull
            switch key {
            case "recordName": recordName = try value?.string()
            case "recordType": recordType = try value?.string()
            case "fieldName": field = value
            case "nephosSealed": isSealed = try value?.bool() ?? false
            default: break
            }
        }
        guard let field else { throw json.missing("fieldName", "a string") }
        fieldName = try field.string()
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordName", recordName)
        writer.member("recordType", recordType)
        writer.member("fieldName", fieldName)
        if isSealed {
            writer.key("nephosSealed")
            writer.bool(true)
        }
        writer.endObject()
    }
}

extension AssetUploadRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var tokens: JSONValue?
        self.init(tokens: [])
        for (key, value) in try json.members("an object") {
            let value = value.nonNull
            switch key {
            case "zoneID": zoneID = try value.map { (zone) throws(WireError) in try ZoneIDDictionary(json: zone) }
            case "tokens": tokens = value
            default: break
            }
        }
        guard let tokens else { throw json.missing("tokens", "an array of asset fields") }
        self.tokens = try tokens.elements("an array of asset fields", AssetField.init(json:))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer)
        }
        writer.key("tokens")
        writer.beginArray()
        for token in tokens { token.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension AssetUploadResponse.Token {
    init(json: JSONValue) throws(WireError) {
        var (record, field, address): (JSONValue?, JSONValue?, JSONValue?)
        for (key, value) in try json.members("an upload token") {
            let value = value.nonNull
            switch key {
            case "recordName": record = value
            case "fieldName": field = value
            case "url": address = value
            default: break
            }
        }
        guard let record else { throw json.missing("recordName", "a string") }
        guard let field else { throw json.missing("fieldName", "a string") }
        guard let address else { throw json.missing("url", "a string") }
        self.init(recordName: try record.string(), fieldName: try field.string(), url: try address.string())
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordName", recordName)
        writer.member("fieldName", fieldName)
        writer.member("url", url)
        writer.endObject()
    }
}

extension AssetUploadResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            tokens: try json.required("tokens", "an array") { (tokens) throws(WireError) in
                try tokens.elements("an array of upload tokens", Token.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("tokens")
        writer.beginArray()
        for token in tokens { token.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension UploadedFile: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            singleFile: try json.required("singleFile", "an asset") { (file) throws(WireError) in
                try AssetValue(json: file)
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("singleFile")
        singleFile.write(to: &writer)
        writer.endObject()
    }
}

extension RereferenceRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        var assets: JSONValue?
        self.init(assets: [])
        for (key, value) in try json.members("an object") {
            let value = value.nonNull
            switch key {
            case "zoneID": zoneID = try value.map { (zone) throws(WireError) in try ZoneIDDictionary(json: zone) }
            case "targetZoneID":
                targetZoneID = try value.map { (zone) throws(WireError) in try ZoneIDDictionary(json: zone) }
            case "assets": assets = value
            default: break
            }
        }
        guard let assets else { throw json.missing("assets", "an array of asset fields") }
        self.assets = try assets.elements("an array of asset fields", AssetField.init(json:))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer)
        }
        if let targetZoneID {
            writer.key("targetZoneID")
            targetZoneID.write(to: &writer)
        }
        writer.key("assets")
        writer.beginArray()
        for asset in assets { asset.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension RereferenceResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            assets: try json.required("assets", "an array") { (assets) throws(WireError) in
                try assets.elements("an array of assets") { (asset) throws(WireError) -> Result in
                    ErrorDictionary.describes(asset)
                        ? .failure(try ErrorDictionary(json: asset)) : .asset(try AssetValue(json: asset))
                }
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("assets")
        writer.beginArray()
        for asset in assets {
            switch asset {
            case .asset(let value): value.write(to: &writer)
            case .failure(let error): error.write(to: &writer)
            }
        }
        writer.endArray()
        writer.endObject()
    }
}
