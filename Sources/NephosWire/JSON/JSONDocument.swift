import CSimdJSON

/// Parses JSON with simdjson.
package enum JSONDocument {
    /// Parses `bytes` and passes the root value to `body`. Values are invalid once `body` returns. An empty document
    /// counts as `{}`.
    package static func parse<Result>(
        _ bytes: UnsafeRawBufferPointer, _ body: (JSONValue) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        let document = csimdjson_parse(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        defer { csimdjson_release(document.parser) }
        if let tape = document.tape, let strings = document.strings {
            return try body(JSONValue(tape: tape, strings: strings, index: 1))
        }
        switch Int(document.error) {
        case Int(CSIMDJSON_EMPTY):
            return try parse(Array("{}".utf8), body)
        case Int(CSIMDJSON_NUMBER_ERROR):
            // simdjson supports no integers beyond 64 bits, but a sender can write a DOUBLE as one
            // ("100000000000000000000").
            if let rewritten = JSONNumber.withFractionsForLargeIntegers(bytes) { return try parse(rewritten, body) }
        default: break
        }
        throw JSONDiagnosis.explain(bytes, message: String(cString: csimdjson_error_message(document.error)))
    }

    /// Parses `bytes` and passes the root value to `body`. Values are invalid once `body` returns. An empty document
    /// counts as `{}`.
    package static func parse<Result>(
        _ bytes: [UInt8], _ body: (JSONValue) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        var outcome: Swift.Result<Result, WireError>?
        bytes.withUnsafeBytes { buffer in
            do throws(WireError) {
                outcome = .success(try parse(buffer, body))
            } catch {
                outcome = .failure(error)
            }
        }
        guard let outcome else { preconditionFailure("withUnsafeBytes calls its closure") }
        return try outcome.get()
    }
}
