package import FoundationEssentials

/// A message of CloudKit Web Services: the body of a request or of an answer.
package protocol WireMessage {
    /// Decodes a message. Throws if it is invalid. Ignores unknown keys.
    init(json: JSONValue) throws(WireError)
    /// Decodes a message's body. An empty body counts as `{}`.
    init(decoding body: UnsafeRawBufferPointer) throws(WireError)
    func write(to writer: inout JSONWriter)
    /// The approximate size of the encoded message in bytes.
    var estimatedSize: Int { get }
    /// The value of the body's `Content-Type` header.
    var mediaType: String { get }
}

extension WireMessage {
    package var estimatedSize: Int { 512 }
    package var mediaType: String { Self.jsonMediaType }
    static var jsonMediaType: String { "application/json; charset=UTF-8" }

    /// Decodes a message's body. An empty body counts as `{}`.
    package init(decoding body: UnsafeRawBufferPointer) throws(WireError) {
        self = try JSONDocument.parse(body) { (json) throws(WireError) in try Self(json: json) }
    }

    /// Decodes a message's body. An empty body counts as `{}`.
    package init(decoding body: some ContiguousBytes) throws(WireError) {
        let result: Result<Self, WireError> = body.withUnsafeBytes { bytes in
            do throws(WireError) {
                return .success(try Self(decoding: bytes))
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    /// Returns the message's JSON in UTF-8.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter(reserving: estimatedSize)
        write(to: &writer)
        return writer.finish()
    }

    /// Returns the message's JSON as consecutive parts, without a copy. The JSON ends with a newline, for terminals.
    package func encodedInParts() -> [JSONBytes] {
        var writer = JSONWriter(reserving: estimatedSize)
        write(to: &writer)
        if mediaType == Self.jsonMediaType { writer.append(UInt8(ascii: "\n")) }
        return writer.finishInParts()
    }
}
