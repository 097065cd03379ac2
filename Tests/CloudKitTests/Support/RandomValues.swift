import CloudKit
import NephosTesting

/// Makes field values of every type, the odd ones among them, in the service's precision.
struct RandomValues {
    var generator: SeededGenerator
    let zoneID: CKRecordZone.ID

    mutating func value() -> any CKRecordValue {
        let scalar = Int.random(in: 0..<9, using: &generator)
        guard Int.random(in: 0..<3, using: &generator) == 0 else { return self.scalar(scalar) }
        let count = Int.random(in: 0..<5, using: &generator)
        return NSArray(array: (0..<count).map { _ in self.scalar(scalar) })
    }

    private mutating func scalar(_ kind: Int) -> any CKRecordValue {
        switch kind {
        case 0: string()
        case 1: Int64.random(in: .min ... .max, using: &generator) >> Int.random(in: 0..<64, using: &generator)
        case 2: Double.random(in: -1e9...1e9, using: &generator)
        case 3: Bool.random(using: &generator)
        case 4: date()
        case 5:
            Data((0..<Int.random(in: 0..<20, using: &generator)).map { _ in .random(in: 0...255, using: &generator) })
        case 6: location()
        case 7: NSNumber(value: Float.random(in: -1...1, using: &generator))
        default: reference()
        }
    }

    private mutating func string() -> String {
        let letters: [Character] = ["a", "B", "é", "e\u{301}", "ß", "日", "👩‍👩‍👧", "\n", "\0", "\"", "$", " "]
        return String(
            (0..<Int.random(in: 0..<12, using: &generator)).map { _ in letters.randomElement(using: &generator) ?? "a" }
        )
    }

    /// Whole milliseconds between 1900 and 2100.
    private mutating func date() -> Date {
        Date(
            timeIntervalSince1970: Double(Int64.random(in: -2_208_988_800_000...4_102_444_800_000, using: &generator))
                / 1000)
    }

    private mutating func location() -> CLLocation {
        CLLocation(
            coordinate: CLLocationCoordinate2D(
                latitude: .random(in: -90...90, using: &generator),
                longitude: .random(in: -180...180, using: &generator)),
            altitude: .random(in: -100...8000, using: &generator), horizontalAccuracy: 5,
            verticalAccuracy: .random(in: -1...9, using: &generator), course: .random(in: 0...360, using: &generator),
            speed: .random(in: 0...9, using: &generator), timestamp: date())
    }

    private mutating func reference() -> CKRecord.Reference {
        let zone = Bool.random(using: &generator) ? zoneID : CKRecordZone.ID(zoneName: "other", ownerName: "_owner")
        return CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "r\(Int.random(in: 0..<100, using: &generator))", zoneID: zone),
            action: Bool.random(using: &generator) ? .deleteSelf : .none)
    }
}
