import Synchronization

/// Keeps what queries came to. Each has two sets of places by a hash, and where no place in them is free takes that of
/// another.
///
/// There are places for the parameters that an app's screens are seen with. Most queries take two kilobytes or so, and one
/// that takes more than some ten is not kept: a client that fills all places on purpose takes tens of megabytes.
final class KeptQueries<Entry: AnyObject & Sendable>: Sendable {
    /// Bytes of the longest request that is kept.
    static var longest: Int { 1024 }
    /// Commas in it.
    private static var mostParts: Int { 64 }
    /// With two sets of four, nearly all of 3,000 queries have a place; with two single places, of as many in all, a
    /// tenth of them would take one another's again and again.
    private static var setCount: Int { 1024 }
    private static var setSize: Int { 4 }

    /// Whether a request is short enough to be kept: in bytes, and in values, names and members, which take more decoded.
    static func isShort(_ json: [UInt8]) -> Bool {
        json.count <= longest && json.count { $0 == UInt8(ascii: ",") } < mostParts
    }

    private struct Place {
        var hash: UInt64 = 0
        var entry: Entry?
    }

    private struct State {
        var places = [Place](repeating: Place(), count: setCount * setSize)
        /// Whose turn it is to lose its place.
        var turn = 0

        func holder(of hash: UInt64) -> Int? {
            let (first, second) = KeptQueries.sets(of: hash)
            func holds(_ place: Int) -> Bool { places[place].hash == hash && places[place].entry != nil }
            return first.first(where: holds) ?? second.first(where: holds)
        }

        /// A free place in the emptier set. Where none is, all take turns, so that what nobody asks for any more goes.
        mutating func placeToGive(to hash: UInt64) -> Int {
            let (first, second) = KeptQueries.sets(of: hash)
            func free(_ set: Range<Int>) -> Int { set.count { places[$0].entry == nil } }
            if let place = (free(second) > free(first) ? second : first).first(where: { places[$0].entry == nil }) {
                return place
            }
            turn = (turn + 1) % (first.count + second.count)
            return turn < first.count ? first.lowerBound + turn : second.lowerBound + turn - first.count
        }
    }

    private let state = Mutex(State())

    /// What has a place of `hash` and is what is looked for.
    func first(at hash: UInt64, where isMatch: (Entry) -> Bool) -> Entry? {
        let entry = state.withLock { state in state.holder(of: hash).flatMap { state.places[$0].entry } }
        guard let entry, isMatch(entry) else { return nil }
        return entry
    }

    /// Keeps an entry in the place of the one that was kept with the same hash, if there is one.
    func keep(_ entry: Entry, at hash: UInt64) {
        // What had the place is freed without the lock.
        _ = state.withLock { state in
            let place = state.holder(of: hash) ?? state.placeToGive(to: hash)
            let old = state.places[place].entry
            state.places[place] = Place(hash: hash, entry: entry)
            return old
        }
    }

    /// The places of a hash.
    private static func sets(of hash: UInt64) -> (Range<Int>, Range<Int>) {
        func set(_ number: UInt64) -> Range<Int> {
            let first = Int(number % UInt64(setCount)) * setSize
            return first..<first + setSize
        }
        return (set(hash), set(hash >> 32))
    }
}
