import Synchronization

/// Keeps what queries came to. Each has two sets of places by a hash, and where none of them is free takes one from another.
///
/// There are places for the parameters that an app's screens are seen with. Most queries take two kilobytes or so, and one
/// that takes more than some ten is not kept: a client that fills all places on purpose takes tens of megabytes.
final class KeptQueries<Entry: AnyObject & Sendable>: Sendable {
    /// Bytes of the longest request that is kept.
    static var longest: Int { 1024 }
    /// Commas in it.
    private static var mostParts: Int { 64 }
    /// With two sets of four, nearly all of 3,000 queries have a place; with two single places, of as many in all, a tenth
    /// of them would take one another's again and again.
    private static var sets: Int { 1024 }
    private static var placesInSet: Int { 4 }

    /// Whether a request is short enough to be kept: in bytes, and in values, names and members, which take more decoded.
    static func isShort(_ json: [UInt8]) -> Bool {
        json.count <= longest && json.count { $0 == UInt8(ascii: ",") } < mostParts
    }

    private struct Place {
        var hash: UInt64 = 0
        var entry: Entry?
    }

    private let places = Mutex([Place](repeating: Place(), count: sets * placesInSet))

    /// What has a place of `hash` and is what is looked for.
    func first(at hash: UInt64, where isMatch: (Entry) -> Bool) -> Entry? {
        let entry = places.withLock { places in Self.place(of: hash, in: places).flatMap { places[$0].entry } }
        guard let entry, isMatch(entry) else { return nil }
        return entry
    }

    /// Keeps an entry in the place of the one that was kept with the same hash, if there is one.
    func keep(_ entry: Entry, at hash: UInt64) {
        // What had the place is freed without the lock.
        _ = places.withLock { places in
            let place = Self.place(of: hash, in: places) ?? Self.placeToTake(for: hash, in: places)
            let old = places[place].entry
            places[place] = Place(hash: hash, entry: entry)
            return old
        }
    }

    private static func setsOf(_ hash: UInt64) -> (Range<Int>, Range<Int>) {
        func places(_ set: UInt64) -> Range<Int> {
            let first = Int(set % UInt64(sets)) * placesInSet
            return first..<first + placesInSet
        }
        return (places(hash), places(hash >> 32))
    }

    private static func place(of hash: UInt64, in places: [Place]) -> Int? {
        let sets = setsOf(hash)
        func holds(_ place: Int) -> Bool { places[place].hash == hash && places[place].entry != nil }
        return sets.0.first(where: holds) ?? sets.1.first(where: holds)
    }

    /// A place of the emptier set.
    private static func placeToTake(for hash: UInt64, in places: [Place]) -> Int {
        let sets = setsOf(hash)
        func free(_ set: Range<Int>) -> Int { set.count { places[$0].entry == nil } }
        let set = free(sets.1) > free(sets.0) ? sets.1 : sets.0
        return set.first { places[$0].entry == nil } ?? set.lowerBound + Int((hash >> 60) % UInt64(placesInSet))
    }
}
