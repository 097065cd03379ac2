/// A message of CloudKit Web Services: the body of a request or of an answer.
package protocol WireMessage {
    /// Throws what a body says wrongly; keys it does not know are ignored.
    init(json: JSONValue) throws(WireError)
    func write(to writer: inout JSONWriter)
    /// About how many bytes the message takes.
    var estimatedSize: Int { get }
}

extension WireMessage {
    package var estimatedSize: Int { 512 }

    /// Decodes a body; an empty one counts as `{}`.
    package init(decoding body: UnsafeRawBufferPointer) throws(WireError) {
        self = try JSONDocument.parse(body) { (json) throws(WireError) in try Self(json: json) }
    }

    /// Decodes a body; an empty one counts as `{}`.
    package init(decoding body: [UInt8]) throws(WireError) {
        self = try JSONDocument.parse(body) { (json) throws(WireError) in try Self(json: json) }
    }

    /// The message's JSON, UTF-8.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter(reserving: estimatedSize)
        write(to: &writer)
        return writer.finish()
    }
}
