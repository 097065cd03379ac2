import CloudKit

/// What can be asked about the world.
extension Countries {
    static func ask(_ world: World) async throws {
        // Records that refer to a record, in an order.
        let ofJapan = CKQuery(
            recordType: "Subdivision", predicate: NSPredicate(format: "country == %@", World.countryID("JP")))
        ofJapan.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let prefectures = try await world.find(ofJapan).compactMap(name)
        print(
            "Japan has \(prefectures.count) subdivisions, from \(prefectures.first ?? "?") to \(prefectures.last ?? "?")."
        )

        // Names that begin with something.
        let new = CKQuery(recordType: "Country", predicate: NSPredicate(format: "name BEGINSWITH %@", "New"))
        new.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        print("Countries that begin with New: \(try await world.find(new).compactMap(name).joined(separator: ", ")).")

        // Words anywhere in a record's texts, in any case and order.
        let words = NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "REPUBLIC democratic")
        let republics = try await world.find(CKQuery(recordType: "Country", predicate: words))
        print("Countries called a democratic republic: \(republics.compactMap(name).sorted().joined(separator: "; ")).")

        // What is inside a circle, the nearest first.
        let center = CLLocation(latitude: 22.3, longitude: 114.2)
        let near = CKQuery(
            recordType: "City",
            predicate: NSPredicate(format: "distanceToLocation:fromLocation:(location, %@) < %f", center, 100_000.0))
        near.sortDescriptors = [CKLocationSortDescriptor(key: "location", relativeLocation: center)]
        let cities = try await world.find(near).map { city in
            let distance = (city["location"] as? CLLocation)?.distance(from: center) ?? 0
            return "\(name(city) ?? "?") (\(Int(distance / 1000)) km)"
        }
        print("Cities within 100 km of Victoria Harbour: \(cities.joined(separator: ", ")).")
    }

    private static func name(_ record: CKRecord) -> String? { record["name"] }
}
