import CloudKit

/// Fills a CloudKit with the countries of the world and some cities, asks about them, lets two devices change the same
/// records, and deletes a country.
///
/// Start the service with `make run`, then this with `swift run Countries`.
@main
struct Countries {
    static func main() async throws {
        let directory = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? "/usr/share/iso-codes/json")
        guard let codes = try? ISOCodes(directory: directory) else {
            print("The country codes are not at \(directory.path). Install them with: apt-get install iso-codes")
            exit(1)
        }
        let table = URL(fileURLWithPath: CommandLine.arguments.dropFirst(2).first ?? "/usr/share/zoneinfo/zone1970.tab")
        guard let places = try? Places(file: table) else {
            print("The cities are not at \(table.path). Install them with: apt-get install tzdata")
            exit(1)
        }
        do {
            try await run(codes, places)
        } catch let error as CKError where error.code == .networkUnavailable || error.code == .networkFailure {
            print("No service answers at \(CloudKitEnvironment.current.url). Start one with: make run")
            exit(1)
        }
    }

    static func run(_ codes: ISOCodes, _ places: Places) async throws {
        // Two devices of Alice's: only who created a record of the public database may change it. Everybody may read it.
        let alice = World(database: container(of: "alice").publicCloudDatabase)
        let tablet = World(database: container(of: "alice").publicCloudDatabase)
        let bob = World(database: container(of: "bob").publicCloudDatabase)

        try await alice.save(codes)
        try await alice.save(places)
        print(
            "Saved \(codes.countries.count) countries, \(codes.subdivisions.count) subdivisions and"
                + " \(places.cities.count) cities.")

        let fetched = try await bob.fetch(codes.subdivisions.map(\.code))
        let orphans = fetched.filter { $0.parent?.recordID != ($0["country"] as? CKRecord.Reference)?.recordID }
        print("Fetched \(fetched.count) subdivisions; \(orphans.count) of them without their country as parent.")

        try await ask(bob)

        let capitals = ["FR-IDF", "DE-BE", "JP-13"].filter { code in codes.subdivisions.contains { $0.code == code } }
        for code in capitals { try await conflict(over: code, alice, tablet) }

        try await delete("FR", codes, alice)
    }

    /// A container as one of two people. An app has one account; a program that plays both says so before it makes each.
    static func container(of account: String) -> CKContainer {
        CloudKitEnvironment.current.account = .token("dev:\(account)")
        return CKContainer(identifier: "iCloud.org.example.Countries")
    }

    /// Both fetch the same record and change it; the second to save learns of the first, and merges.
    static func conflict(over code: String, _ phone: World, _ tablet: World) async throws {
        let id = CKRecord.ID(recordName: code)
        let first = try await phone.database.record(for: id)
        let second = try await tablet.database.record(for: id)
        first["visited"] = true
        try await phone.database.save(first)
        second["wishedFor"] = true
        do {
            try await tablet.database.save(second)
            print("\(code): no conflict, which should not be.")
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord, let client = error.clientRecord else { throw error }
            for key in client.changedKeys() { server[key] = client[key] }
            let merged = try await tablet.database.save(server)
            print(
                "\(code): conflict resolved; visited: \(merged["visited"] as? Bool ?? false),"
                    + " wished for: \(merged["wishedFor"] as? Bool ?? false).")
        }
    }

    /// Deletes a country. Its subdivisions belong to it, so they go too: in the default zone a moment later.
    static func delete(_ code: String, _ codes: ISOCodes, _ world: World) async throws {
        let owned = codes.subdivisions.filter { $0.country == code }.map(\.code)
        let before = try await world.fetch(owned).count
        try await world.database.deleteRecord(withID: World.countryID(code))
        var left = before
        for _ in 0..<200 where left > 0 {
            left = try await world.fetch(owned).count
            if left > 0 { try await Task.sleep(for: .milliseconds(20)) }
        }
        print("Deleted \(code): of its \(before) subdivisions \(left) are left.")
    }
}
