import Testing

@testable import NephosServer

@Suite struct RecentRequestsTests {
    @Test func `a position has a number, and its ring before it`() {
        let recent = RecentRequests(id: "a")
        for (text, number) in [("7", 7), ("a-7", 7), ("b-7", 0), ("aa-7", 0), ("a-0", 0)] {
            #expect(RecentRequests.Position(text).map(recent.number) == number, "\(text)")
        }
        for text in ["", "-", "-7", "a-", "a--7", "a-b-7", "a"] {
            #expect(RecentRequests.Position(text) == nil, "\(text)")
        }
        #expect(RecentRequests.Position(ring: "a", 7).description == "a-7")
    }

    @Test func `the texts of a request are cut to their bytes, at the end of a scalar`() {
        let limit = RecentRequests.textSize
        for (text, size) in [
            (String(repeating: "x", count: limit), limit), (String(repeating: "x", count: limit + 1), limit),
            ("x" + String(repeating: "é", count: limit), limit - 1),
            ("xx" + String(repeating: "€", count: limit), limit - 2),
            ("xxx" + String(repeating: "🚲", count: limit), limit - 1),
            // One character with any number of bytes.
            ("e" + String(repeating: "\u{301}", count: limit), limit - 1),
        ] {
            let requests = RecentRequests()
            requests.note(
                AnsweredRequest(
                    requestID: "", method: "GET", endpoint: text, container: text, account: text, summary: text,
                    status: 400, reason: text, duration: .zero, answerSize: 0),
                at: 0)
            let noted = requests.last.requests[0].request
            for cut in [noted.endpoint, noted.container, noted.account, noted.summary, noted.reason] {
                #expect(cut?.utf8.count == size && text.utf8.starts(with: (cut ?? "").utf8), "\(text.prefix(3))")
            }
        }
    }
}
