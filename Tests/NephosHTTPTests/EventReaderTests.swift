import NephosHTTP
import Testing

/// Server-sent events.
@Suite struct EventReaderTests {
    private func events(_ pieces: [String]) throws -> (events: [String], lastEventID: String?) {
        let reader = EventReader()
        let found = try pieces.flatMap { try reader.events(adding: Array($0.utf8)) }
        return (found.map { String(decoding: $0, as: UTF8.self) }, reader.lastEventID)
    }

    @Test func `events are read however they are cut, and comments are no events`() throws {
        let stream = ":\n\nid: a-7\ndata: {\"a\":1}\n\n:\n\nid: a-9\ndata: {\"b\":2}\n\nid: 11\ndata: {\"c"
        let whole = try events([stream])
        #expect(whole.events == [#"{"a":1}"#, #"{"b":2}"#] && whole.lastEventID == "a-9")
        let cut = try events(stream.map { String($0) })
        #expect(cut.events == whole.events && cut.lastEventID == "a-9")
        #expect(try events([":\n\n"]) == ([], nil))
    }
}
