import NephosWire

/// The items of a batch that fail because this device refused another item. In an atomic request they are the other items of
/// the zone, also of one without the capability (`isAtomic`, Apple's documentation). In any request they are the root of a
/// refused share and the share of a refused root ("both are saved or neither").
struct BatchDependents: Sendable {
    struct Item: Hashable, Sendable {
        var recordName: String?
        /// The ID of the item's zone; nil for the default zone.
        var zoneID: ZoneIDDictionary?
        /// The root record of a new share; nil for any other item.
        var root: String?
        /// Whether the service refused the item's files. That fails the rest of atomic zones alone.
        var isRefusedByService = false

        fileprivate var failsZone: Bool {
            !isRefusedByService || zoneID.map { $0.zoneName != ZoneIDDictionary.defaultZoneName } ?? false
        }
    }

    private struct Name: Hashable {
        var recordName: String?
        var zoneID: ZoneIDDictionary?
    }

    /// The reasons why items are not sent, by the index of the item.
    let reasons: [Int: String]

    /// - Parameter refused: the indices of the items that were refused on this device.
    init(of refused: Set<Int>, in items: [Item], isAtomic: Bool) {
        if refused.isEmpty {
            reasons = [:]
            return
        }
        let zones = Set(refused.map { items[$0] }.filter { isAtomic && $0.failsZone }.map(\.zoneID))
        let names = Set(refused.map { Name(recordName: items[$0].recordName, zoneID: items[$0].zoneID) })
        let roots = Set(
            refused.filter { items[$0].root != nil }.map { Name(recordName: items[$0].root, zoneID: items[$0].zoneID) })
        var reasons: [Int: String] = [:]
        for (index, item) in items.enumerated() where !refused.contains(index) {
            if zones.contains(item.zoneID) {
                reasons[index] = "Another item of the same zone failed, so this one was not sent"
            } else if roots.contains(Name(recordName: item.recordName, zoneID: item.zoneID)) {
                reasons[index] = "The record's share failed, and both are saved or neither"
            } else if let root = item.root, names.contains(Name(recordName: root, zoneID: item.zoneID)) {
                reasons[index] = "The share's root failed, and both are saved or neither"
            }
        }
        self.reasons = reasons
    }
}
