/// Suggests known words for unknown ones, such as misspelt names.
package enum Suggestion {
    /// Returns ` Did you mean 'NAME'?`, or an empty string if no known word is similar.
    package static func text(for word: String, among known: [String]) -> String {
        nearest(to: word, among: known).map { " Did you mean '\($0)'?" } ?? ""
    }

    /// Returns `; did you mean 'NAME'?` for the end of a reason, or an empty string if no known word is similar.
    package static func clause(for word: String, among known: some Sequence<String>) -> String {
        nearest(to: word, among: Array(known)).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// Returns the known word with the smallest edit distance to `word`; nil if that distance exceeds 1 and
    /// a third of the known word's length. Lengths are those of UTF-8.
    package static func nearest(to word: String, among known: [String]) -> String? {
        // A long word is not a typing error, and the comparison's cost is the product of the two lengths.
        guard word.utf8.count <= longestWord else { return nil }
        var nearest: (name: String, distance: Int)?
        var work = 0
        for name in known {
            let (length, bound) = (name.utf8.count, max(1, name.utf8.count / 3))
            guard abs(length - word.utf8.count) <= bound else { continue }
            work += length * word.utf8.count
            guard work <= mostWork else { break }
            let found = distance(word, name)
            if found <= bound, found < nearest?.distance ?? .max { nearest = (name, found) }
        }
        return nearest?.name
    }

    private static let longestWord = 40
    /// The maximum number of pairs of letters per suggestion: a request may ask for hundreds.
    private static let mostWork = 20_000

    /// Returns the Damerau–Levenshtein distance: the number of bytes to insert, delete, replace or swap with the next
    /// one.
    package static func distance(_ one: String, _ other: String) -> Int {
        let (a, b) = (Array(one.utf8), Array(other.utf8))
        var before: [Int] = []
        var row = Array(0...b.count)
        for i in a.indices {
            var next = [i + 1]
            for j in b.indices {
                var best = min(row[j] + (a[i] == b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, before[j - 1] + 1) }
                next.append(best)
            }
            (before, row) = (row, next)
        }
        return row[b.count]
    }
}
