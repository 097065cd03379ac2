import NephosStorage

/// An account's position in the change feed of a zone that is shared with the account, opaque to clients. It consists
/// of the position in each share of the account. A position includes the change sequence of the account's acceptance,
/// so a token from before the account left the share is invalid.
struct SharedZoneToken: Equatable {
    struct Position: Equatable {
        var share: Int64
        var joined: Int64
        /// The change sequence up to which the share's feed was read.
        var sequence: Int64
        /// The change sequence up to which the client needs no deletions: it never had those records, or knows of their
        /// deletion.
        var deletionsKnown: Int64
    }

    var zone: Int64
    /// The positions in the order of their shares, so that each is found by a binary search.
    private(set) var positions: [Position]
    /// During a fetch, the last change sequence that the account could see when the page was read; otherwise 0. Records
    /// that changed up to that sequence are no longer at their earlier positions.
    var seen: Int64

    private static let version: UInt8 = 4

    init(zone: Int64, positions: [Position] = [], seen: Int64 = 0) {
        self.zone = zone
        self.seen = seen
        self.positions = positions.sorted { $0.share < $1.share }
    }

    /// Whether a restore of the store lost the period in which the store issued the token.
    private func isLost(_ strings: TokenCodec) -> Bool {
        strings.isLost(seen)
            || positions.contains { position in
                [position.share, position.joined, position.sequence, position.deletionsKnown]
                    .contains(where: strings.isLost)
            }
    }

    /// The position of a share, if it belongs to the account's present membership; otherwise nil.
    func position(of part: Participation) -> Position? {
        let place = place(ofShare: part.share.id)
        guard place < positions.count, positions[place].share == part.share.id, positions[place].joined == part.joined
        else { return nil }
        return positions[place]
    }

    subscript(index: Int) -> Position {
        get { positions[index] }
        set { positions[index] = newValue }
    }

    /// The index of a share's position. Inserts `makePosition()` if there is none.
    mutating func index(ofShare share: Int64, _ makePosition: () -> Position) -> Int {
        let place = place(ofShare: share)
        if place == positions.count || positions[place].share != share { positions.insert(makePosition(), at: place) }
        return place
    }

    mutating func remove(_ position: Position) { positions.removeAll { $0 == position } }

    /// The index of the first position of this share or a later one.
    private func place(ofShare share: Int64) -> Int {
        var (low, high) = (0, positions.count)
        while low < high {
            let middle = (low + high) / 2
            if positions[middle].share < share { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Encoding

    func text(_ strings: TokenCodec, for purpose: TokenCodec.Purpose = .syncToken) -> String {
        var numbers = [zone] + positions.flatMap { [$0.share, $0.joined, $0.sequence, $0.deletionsKnown] }
        if seen != 0 { numbers.append(seen) }
        let bytes = numbers.reduce(into: [Self.version]) { bytes, number in
            withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        }
        return strings.text(bytes, for: purpose)
    }

    /// Decodes a token; nil if the text is not a token of a shared zone in that database, or if the token expired
    /// because the store was restored from an earlier backup.
    init?(_ text: String, _ strings: TokenCodec, for purpose: TokenCodec.Purpose = .syncToken) {
        guard let bytes = strings.content(of: text, for: purpose), bytes.first == Self.version,
            bytes.count % 32 == 9 || bytes.count % 32 == 17
        else { return nil }
        let numbers = stride(from: 1, to: bytes.count, by: 8).map { start in
            bytes[start..<start + 8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
        zone = numbers[0]
        positions = stride(from: 1, to: numbers.count - 3, by: 4).map { index in
            Position(
                share: numbers[index], joined: numbers[index + 1], sequence: numbers[index + 2],
                deletionsKnown: numbers[index + 3])
        }
        .sorted { $0.share < $1.share }
        seen = numbers.count % 4 == 2 ? numbers[numbers.count - 1] : 0
        if isLost(strings) { return nil }
    }
}
