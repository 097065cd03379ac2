extension AssetField {
    fileprivate static let list = Codec<[Self]>.array("an array of asset fields", of: codec)

    private static let codec = Codec<Self>(
        as: "an asset field", Self.init,
        .optional("recordName", \.recordName, .string),
        .optional("recordType", \.recordType, .string),
        .required("fieldName", \.fieldName, .string),
        .flag("nephosSealed", \.isSealed))
}

extension AssetUploadRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .optional("zoneID", \.zoneID, .zoneID),
        .required("tokens", \.tokens, AssetField.list, "an array of asset fields"))
}

extension AssetUploadResponse.Token {
    fileprivate static let codec = Codec<Self>(
        as: "an upload token", Self.init, .required("recordName", \.recordName, .string),
        .required("fieldName", \.fieldName, .string), .required("url", \.url, .string))
}

extension AssetUploadResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("tokens", \.tokens, .array("an array of upload tokens", of: Result.codec)))
}

extension AssetUploadResponse.Result {
    fileprivate static let codec = Codec<Self>("an upload token") { (json) throws(WireError) in
        ErrorDictionary.describes(json)
            ? .failure(try ErrorDictionary(json: json)) : .token(try AssetUploadResponse.Token.codec.read(json))
    } write: { result, writer in
        switch result {
        case .token(let token): AssetUploadResponse.Token.codec.write(token, &writer)
        case .failure(let error): error.write(to: &writer)
        }
    }
}

extension UploadedFile: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required("singleFile", \.singleFile, Codec("an asset", read: AssetValue.init(json:)) { $0.write(to: &$1) }))
}

extension RereferenceRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .optional("zoneID", \.zoneID, .zoneID), .optional("targetZoneID", \.targetZoneID, .zoneID),
        .required("assets", \.assets, AssetField.list, "an array of asset fields"))
}

extension RereferenceResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("assets", \.assets, .array("an array of assets", of: Result.codec)))
}

extension RereferenceResponse.Result {
    fileprivate static let codec = Codec<Self>("an asset") { (json) throws(WireError) in
        ErrorDictionary.describes(json) ? .failure(try ErrorDictionary(json: json)) : .asset(try AssetValue(json: json))
    } write: { result, writer in
        switch result {
        case .asset(let value): value.write(to: &writer)
        case .failure(let error): error.write(to: &writer)
        }
    }
}
