import Testing

@testable import NephosService

/// The networks of the log and the audit.
@Suite struct NetworkTextTests {
    @Test(arguments: [
        ("7f000001", "127.0.0.1"), ("c0000207", "192.0.2.7"), ("20010db800000000", "2001:db8::/64"),
        ("20010db800000007", "2001:db8:0:7::/64"), ("0000000000000000", "::/64"), ("", ""), ("socket", "socket"),
        ("7f00000", "7f00000"),
    ])
    func `a network is shown as people write it`(_ network: String, _ shown: String) {
        #expect(NetworkText.readable(network) == shown)
    }
}
