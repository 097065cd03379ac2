import NephosStorage

/// A position in the feed of a zone that is shared with an account, opaque to clients: how far each share was read that it
/// takes part in. It names the time at which the account joined, so that one from before it left does not fit.
struct SharedZoneToken: Equatable {
    struct Position: Equatable {
        var share: Int64
        var joined: Int64
        /// The change sequence up to which the share was read.
        var sequence: Int64
        /// What was gone at this change sequence was never on the device, or is known to be gone.
        var deletionsKnown: Int64
    }

    var zone: Int64
    var positions: [Position]
    /// While a fetch goes on, the last change sequence that the account saw anything of when its page was read: what has changed
    /// up to there is not where it was before. 0 otherwise.
    var seen: Int64

    private static let version: UInt8 = 4

    init(zone: Int64, positions: [Position] = [], seen: Int64 = 0) {
        self.zone = zone
        self.seen = seen
        self.positions = positions
    }

    /// Whether it was given in a time of which the store has lost everything.
    private func isLost(_ strings: TokenCodec) -> Bool {
        strings.isLost(seen)
            || positions.contains { position in
                [position.share, position.joined, position.sequence, position.deletionsKnown]
                    .contains(where: strings.isLost)
            }
    }

    /// The position of a share, if it is of the account's present stay.
    func position(of part: Participation) -> Position? {
        positions.first { $0.share == part.share.id && $0.joined == part.joined }
    }

    // MARK: As text

    func text(_ strings: TokenCodec, for purpose: TokenCodec.Purpose = .syncToken) -> String {
        var numbers = [zone] + positions.flatMap { [$0.share, $0.joined, $0.sequence, $0.deletionsKnown] }
        if seen != 0 { numbers.append(seen) }
        let bytes = numbers.reduce(into: [Self.version]) { bytes, number in
            withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        }
        return strings.text(bytes, for: purpose)
    }

    /// Nil for what is no token of such a zone's, or not of that database's, or is one that has expired as the store was restored
    /// from a backup of before.
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
        seen = numbers.count % 4 == 2 ? numbers[numbers.count - 1] : 0
        if isLost(strings) { return nil }
    }
}
