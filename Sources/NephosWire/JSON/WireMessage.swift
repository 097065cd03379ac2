package import FoundationEssentials

/// A message of CloudKit Web Services: the body of a request or of an answer.
package protocol WireMessage {
    /// Throws on an invalid body; ignores unknown keys.
    init(json: JSONValue) throws(WireError)
    /// Decodes a body; an empty one counts as `{}`.
    init(decoding body: UnsafeRawBufferPointer) throws(WireError)
    func write(to writer: inout JSONWriter)
    /// The approximate size of the encoded message in bytes.
    var estimatedSize: Int { get }
    /// The body's `Content-Type`.
    var mediaType: String { get }
}

extension WireMessage {
    package var estimatedSize: Int { 512 }
    package var mediaType: String { Self.jsonMediaType }
    static var jsonMediaType: String { "application/json; charset=UTF-8" }

    /// Decodes a body; an empty one counts as `{}`.
    package init(decoding body: UnsafeRawBufferPointer) throws(WireError) {
        self = try JSONDocument.parse(body) { (json) throws(WireError) in try Self(json: json) }
    }

    /// Decodes a body; an empty one counts as `{}`.
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

    /// The message's JSON, UTF-8.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter(reserving: estimatedSize)
        write(to: &writer)
        return writer.finish()
    }

    /// The message's JSON as consecutive parts, without a copy. Ends in a newline, for terminals.
    package func encodedInParts() -> [JSONBytes] {
        var writer = JSONWriter(reserving: estimatedSize)
        write(to: &writer)
        if mediaType == Self.jsonMediaType { writer.append(UInt8(ascii: "\n")) }
        return writer.finishInParts()
    }
}
