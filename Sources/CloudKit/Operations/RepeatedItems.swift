import NephosWire

/// The items of a batch that are sent again, once the library brings what the service lacked for others: keys or files.
enum RepeatedItems {
    /// Returns the indices of the items that failed in the zones of the items that lacked something. Each may have failed
    /// because of one of those: an atomic zone saves none, a child fails without its parent, and a deletion fails while a
    /// record refers to what it deletes. Sent alone, the items would no longer be the batch that the app saves.
    static func of<Zone: Hashable>(
        _ answers: [Int: RecordResult], lacking: [Int], zone: (Int) -> Zone
    ) -> Set<Int> {
        let zones = Set(lacking.map(zone))
        return Set(
            answers.filter { index, answer in
                if case .failure = answer { zones.contains(zone(index)) } else { false }
            }.keys)
    }
}
