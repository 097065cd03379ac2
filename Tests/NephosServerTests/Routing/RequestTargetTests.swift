import Testing

@testable import NephosServer

@Suite struct RequestTargetTests {
    @Test(arguments: [
        ("/", []),
        ("/health", ["health"]),
        ("//a///b/", ["a", "b"]),
        ("/a%2Fb/c%20d", ["a/b", "c d"]),
        ("/caf%C3%A9/%E2%98%81", ["café", "☁"]),
        ("/a+b", ["a+b"]),
        ("/a?x=/y", ["a"]),
        ("/%2e%2E", [".."]),
    ])
    func `the path is decoded one component at a time`(_ target: String, _ components: [String]) {
        #expect(RequestTarget(target)?.components == components)
    }

    @Test(arguments: ["/%", "/a%2", "/%zz", "/%C3", "/%FF%FE", "/%-1"])
    func `a path that is not percent-encoded UTF-8 is refused`(_ target: String) {
        #expect(RequestTarget(target) == nil)
    }

    @Test(arguments: [
        ("/?t=plain", ["plain"]),
        ("/?t=a%2Bb%2F%3D", ["a+b/="]),
        ("/?t=a%20b", ["a b"]),
        ("/?t=a+b", ["a b", "a+b"]),
        ("/?a=1&t=second&t=third", ["second"]),
        ("/?t=&t=full", ["full"]),
        ("/?t=a=b", ["a=b"]),
        ("/?t=%zz", []),
    ])
    func `a parameter is read in every accepted spelling`(_ target: String, _ readings: [String]) {
        #expect(RequestTarget(target)?.parameter("t")?.readings == readings)
    }

    @Test(arguments: ["/", "/?", "/?tt=1", "/?=t", "/?t", "/?t=", "/t=1"])
    func `a missing parameter is nil`(_ target: String) {
        #expect(RequestTarget(target)?.parameter("t") == nil)
    }
}
