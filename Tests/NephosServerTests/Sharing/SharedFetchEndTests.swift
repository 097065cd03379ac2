import Testing

extension JSONCloud {
    /// Shares the zone as a whole with bob.
    fileprivate func shareZone() async throws -> [String: Any] {
        try await modify(
            "alice",
            #"""
            {"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share",
             "publicPermission":"NONE","participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},
             "permission":"READ_WRITE"}]}}
            """#)[0]
    }

    /// Has bob accept a share.
    /// - Returns: the owner's user record name.
    func join(_ share: [String: Any]) async throws -> String {
        let guid = try #require(share.text("shortGUID"))
        try await post("bob", "public", "records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        let zones = try await post("bob", "shared", "zones/list", "{}").objects("zones")
        return try #require(zones.first?.object("zoneID")?.text("ownerRecordName"))
    }
}

/// A fetch of several pages of a shared zone ends where the zone ended when it began (`nephosFetchEnd`).
@Suite struct SharedFetchEndTests {
    @Test(arguments: [false, true])
    func `a fetch in a shared zone ends although its records change meanwhile`(isZoneWide: Bool) async throws {
        let cloud = JSONCloud()
        let (_, tag) = try await cloud.makeList()
        let owner = try await cloud.join(isZoneWide ? cloud.shareZone() : cloud.share(tag))
        for item in 0..<8 {
            _ = try await cloud.modify(
                "alice",
                #"{"operationType":"create","record":{"recordName":"i\#(item)","recordType":"Item","parent":{"recordName":"root"}}}"#
            )
        }
        var seen: [String] = []
        var (token, end) = ("null", "null")
        var hasMore = true
        while hasMore, seen.count < 40 {
            let answer = try await cloud.post(
                "bob", "shared", "changes/zone",
                """
                {"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"\(owner)"},"resultsLimit":2,
                 "syncToken":\(token),"nephosFetchEnd":\(end)}]}
                """)
            let zone = try #require((answer["zones"] as? [[String: Any]])?.first)
            let names = try #require(zone["records"] as? [[String: Any]]).compactMap { $0["recordName"] as? String }
            seen += names
            for name in names where name.hasPrefix("i") && name.count == 2 {
                _ = try await cloud.modify(
                    "alice",
                    #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","recordType":"Item","fields":{"n":{"value":\#(seen.count)}}}}"#
                )
            }
            token = "\"\(try #require(zone["syncToken"] as? String))\""
            end = (zone["nephosFetchEnd"] as? String).map { "\"\($0)\"" } ?? "null"
            hasMore = zone["moreComing"] as? Bool ?? false
            #expect(hasMore == (end != "null"))
        }
        #expect(!hasMore && Set(seen).count == seen.count)
        // What changed meanwhile comes with the next fetch.
        let next = try await cloud.post(
            "bob", "shared", "changes/zone",
            #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"\#(owner)"},"syncToken":\#(token)}]}"#)
        let zone = try #require((next["zones"] as? [[String: Any]])?.first)
        let names = try #require(zone["records"] as? [[String: Any]]).compactMap { $0["recordName"] as? String }
        #expect(names.sorted() == (0..<8).map { "i\($0)" })
    }

    @Test func `the end marker of another zone's fetch is refused`() async throws {
        let cloud = JSONCloud()
        let (_, tag) = try await cloud.makeList()
        let owner = try await cloud.join(cloud.share(tag))
        let answer = try await cloud.post(
            "bob", "shared", "changes/zone",
            #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"\#(owner)"},"nephosFetchEnd":"AAAA"}]}"#)
        let zone = try #require((answer["zones"] as? [[String: Any]])?.first)
        #expect(zone["serverErrorCode"] as? String == "BAD_REQUEST")
    }
}
