import NephosCrypto

/// The last elements of a sequence whose length has no bound.
struct Recent<Element> {
    private(set) var elements: [Element] = []
    /// How many elements before these are left out.
    private(set) var omitted = 0
    private let limit: Int?

    /// - Parameter limit: the minimum number of elements to keep; nil for all.
    init(_ limit: Int?) { self.limit = limit }

    var count: Int { omitted + elements.count }

    /// - Returns: the elements that are left out from now on.
    @discardableResult
    mutating func append(_ element: Element) -> ArraySlice<Element> {
        elements.append(element)
        // Leaving out many at a time, as the others move.
        guard let limit, elements.count >= 2 * limit else { return [] }
        defer {
            elements.removeFirst(limit)
            omitted += limit
        }
        return elements.prefix(limit)
    }
}

extension Recent: Sendable where Element: Sendable {}

/// What happened in a simulation, a line each: of long ones the last lines, and the hash of those before.
struct SimulationTrace: Sendable {
    private var recent: Recent<String>
    private var hash = FNV1a([])

    init(_ limit: Int?) { recent = Recent(limit) }

    mutating func append(_ line: String) {
        for omitted in recent.append(line) {
            hash.add(omitted.utf8)
            hash.add([0])
        }
    }

    /// The lines. Equal runs have equal lines, evicted ones included by their hash.
    var lines: [String] {
        if recent.omitted == 0 { return recent.elements }
        return ["\(recent.omitted) lines before, with the hash \(String(hash.value, radix: 16))"] + recent.elements
    }

    /// Returns where a repetition differed in the lines that both have, from 1, and the two lines; nil if it did not.
    func difference(from other: SimulationTrace) -> (number: Int, lines: [String?])? {
        let begin = max(recent.omitted, other.recent.omitted)
        let (one, two) = (recent, other.recent)
        let lines = [one, two].map { Array($0.elements.dropFirst(begin - $0.omitted)) }
        for index in 0..<max(lines[0].count, lines[1].count) {
            let pair = lines.map { index < $0.count ? $0[index] : nil }
            if pair[0] != pair[1] { return (begin + index + 1, pair) }
        }
        return nil
    }
}
