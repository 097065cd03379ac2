import NephosStorage
import NephosWire

/// A change in a zone, stored until its fan-out is done. The event contains the records that query subscriptions may
/// match; of any other change it records only that the change occurred.
enum ChangeEvent: Equatable {
    /// Records were written or deleted. The list is empty if no query subscription can match them.
    case records([RecordChange])
    /// The zone was created or deleted. `former` has the subscriptions that were deleted with the zone.
    case zone(former: [SubscriptionRow])
    /// Content that another account shares has changed. The event's zone has the ID of the sharing owner's zone, and
    /// the owner that stands for the notified account's shared database.
    case shared(by: OwnerID)

    /// Whether a later equal event of the same zone makes this event redundant.
    var isHint: Bool {
        if case .shared = self { return true }
        return self == .records([])
    }

    private enum Kind: UInt8 { case records, zone, shared }

    /// - Parameter size: the number of bytes of records at which an event ends and the next begins.
    /// - Returns: the bodies of as many events as the changes need.
    static func bodies(of changes: [RecordChange], size: Int = Limits.changeEventSize) -> [[UInt8]] {
        if changes.isEmpty { return [ChangeEvent.records([]).body] }
        var bodies: [[UInt8]] = []
        var page: [RecordChange] = []
        var room = size
        for change in changes {
            page.append(change)
            room -= change.record.fields.count
            if room <= 0 || page.count == Limits.changesPerEvent {
                bodies.append(ChangeEvent.records(page).body)
                (page, room) = ([], size)
            }
        }
        if !page.isEmpty { bodies.append(ChangeEvent.records(page).body) }
        return bodies
    }

    // MARK: - As bytes

    var body: [UInt8] {
        var bytes = ByteWriter(reserving: 256)
        switch self {
        case .records(let changes):
            bytes.append(Kind.records.rawValue)
            for change in changes { Self.write(change, to: &bytes) }
        case .zone(let former):
            bytes.append(Kind.zone.rawValue)
            for row in former {
                bytes.append(row.id)
                bytes.append(UInt64(bitPattern: row.account))
                bytes.append(row.recordType)
                bytes.append(row.body)
            }
        case .shared(let owner):
            bytes.append(Kind.shared.rawValue)
            bytes.append(UInt64(bitPattern: owner.rawValue))
        }
        return Array(bytes.bytes)
    }

    /// Decodes an event; nil if the body is damaged.
    /// - Parameter zone: the event's zone.
    init?(_ body: [UInt8], in zone: ZoneKey) {
        var bytes = ByteReader(body)
        switch bytes.byte().flatMap(Kind.init) {
        case .records?:
            var changes: [RecordChange] = []
            while !bytes.isAtEnd {
                guard let change = Self.change(&bytes, zone) else { return nil }
                changes.append(change)
            }
            self = .records(changes)
        case .zone?:
            var rows: [SubscriptionRow] = []
            while !bytes.isAtEnd {
                guard let id = bytes.text(), let account = bytes.integer(), let type = bytes.text(),
                    let body = bytes.bytes()
                else { return nil }
                rows.append(
                    SubscriptionRow(
                        owner: zone.owner, account: Int64(bitPattern: account), id: id, recordType: type, zone: zone.id,
                        body: body))
            }
            self = .zone(former: rows)
        case .shared?:
            guard let owner = bytes.integer() else { return nil }
            self = .shared(by: OwnerID(rawValue: Int64(bitPattern: owner)))
        case nil: return nil
        }
    }

    private static func write(_ change: RecordChange, to bytes: inout ByteWriter) {
        let trigger: UInt8 =
            switch change.trigger {
            case .create: 0
            case .update: 1
            case .delete: 2
            }
        bytes.append(trigger)
        let row = change.record
        for text in [row.name, row.type] { bytes.append(text) }
        for number in [row.sequence, row.createdAt, row.createdBy, row.modifiedAt, row.modifiedBy] {
            bytes.append(UInt64(bitPattern: number))
        }
        for text in [row.parent, row.share] {
            bytes.append(text == nil ? 0 : 1 as UInt8)
            bytes.append(text ?? "")
        }
        bytes.append(row.fields)
    }

    private static func change(_ bytes: inout ByteReader, _ zone: ZoneKey) -> RecordChange? {
        let triggers: [SubscriptionDictionary.Trigger] = [.create, .update, .delete]
        guard let trigger = bytes.byte(), triggers.indices.contains(Int(trigger)), let name = bytes.text(),
            let type = bytes.text()
        else { return nil }
        var numbers: [Int64] = []
        for _ in 0..<5 {
            guard let number = bytes.integer() else { return nil }
            numbers.append(Int64(bitPattern: number))
        }
        var texts: [String?] = []
        for _ in 0..<2 {
            guard let isThere = bytes.byte(), let text = bytes.text() else { return nil }
            texts.append(isThere == 1 ? text : nil)
        }
        guard let fields = bytes.bytes() else { return nil }
        return RecordChange(
            triggers[Int(trigger)],
            RecordRow(
                zone: zone, name: name, type: type, sequence: numbers[0], createdAt: numbers[1], createdBy: numbers[2],
                modifiedAt: numbers[3], modifiedBy: numbers[4], parent: texts[0], share: texts[1], fields: fields))
    }
}
