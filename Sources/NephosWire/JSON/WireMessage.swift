package import FoundationEssentials

/// A message of CloudKit Web Services: the body of a request or of an answer.
package protocol WireMessage {
    /// Throws what a body says wrongly; keys it does not know are ignored.
    init(json: JSONValue) throws(WireError)
    /// Decodes a body; an empty one counts as `{}`.
    init(decoding body: UnsafeRawBufferPointer) throws(WireError)
    func write(to writer: inout JSONWriter)
    /// About how many bytes the message takes.
    var estimatedSize: Int { get }
    /// What the body is, as `Content-Type` says it.
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

    /// The same where it was written: one part after the other. JSON ends in a newline, for readers on a
    /// terminal.
    package func encodedInParts() -> [JSONBytes] {
        var writer = JSONWriter(reserving: estimatedSize)
        write(to: &writer)
        if mediaType == Self.jsonMediaType { writer.append(UInt8(ascii: "\n")) }
        return writer.finishInParts()
    }
}
