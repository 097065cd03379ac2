import Glibc
import NephosWire

/// A cell of a grid over longitude and latitude, which is halved in both directions at each level. Locations are
/// ordered by their positions on the Z-order curve through the grid, so each cell is one range of locations.
struct LocationCell: Hashable {
    /// The number of halvings of the globe, at most `deepest`.
    var level: Int
    /// The cell's number from the west.
    var x: UInt64
    /// The cell's number from the south.
    var y: UInt64

    static let deepest = 32
    static let globe = LocationCell(level: 0, x: 0, y: 0)

    /// The tag of invalid locations (such as a latitude over 90 degrees), which sort after all cells.
    private static let elsewhere = OrderedBytes.Tag.location + 1

    // MARK: - Entries

    /// The index value of a location: its position on the curve, then the exact location.
    static func entry(_ location: LocationValue) -> [UInt8] {
        let exact = OrderedBytes.coordinate(location.latitude) + OrderedBytes.coordinate(location.longitude)
        guard abs(location.latitude) <= 90, abs(location.longitude) <= 180 else { return [elsewhere] + exact }
        let curve = interleave(
            x: quantize((location.longitude + 180) / 360), y: quantize((location.latitude + 90) / 180))
        return [OrderedBytes.Tag.location] + OrderedBytes.bigEndian(curve) + exact
    }

    /// The location of an index value; nil if the record has no location.
    static func location(of entry: ArraySlice<UInt8>) -> LocationValue? {
        guard entry.count >= 17, entry.first != OrderedBytes.Tag.missing else { return nil }
        let exact = entry.dropFirst(entry.first == elsewhere ? 1 : 9)
        return LocationValue(
            latitude: OrderedBytes.coordinate(from: exact.prefix(8)),
            longitude: OrderedBytes.coordinate(from: exact.dropFirst(8).prefix(8)))
    }

    /// The smallest cell that contains the locations of two entries; nil if one of them is in no cell.
    init?(enclosing first: ArraySlice<UInt8>, _ last: ArraySlice<UInt8>) {
        guard let one = Self.curve(of: first), let other = Self.curve(of: last) else { return nil }
        level = min((one ^ other).leadingZeroBitCount / 2, Self.deepest)
        let place = level == 0 ? 0 : one >> UInt64(64 - 2 * level)
        (x, y) = (Self.gather(place), Self.gather(place >> 1))
    }

    init(level: Int, x: UInt64, y: UInt64) {
        self.level = level
        self.x = x
        self.y = y
    }

    private static func curve(of entry: ArraySlice<UInt8>) -> UInt64? {
        guard entry.count >= 17, entry.first == OrderedBytes.Tag.location else { return nil }
        return entry.dropFirst().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func quantize(_ fraction: Double) -> UInt64 {
        min(UInt64(max(0, fraction) * 0x1p32), (1 << 32) - 1)
    }

    private static func interleave(x: UInt64, y: UInt64) -> UInt64 { spread(x) | spread(y) << 1 }

    /// Moves each bit n to bit 2n.
    private static func spread(_ value: UInt64) -> UInt64 {
        var value = value & 0xFFFF_FFFF
        value = (value | value << 16) & 0x0000_FFFF_0000_FFFF
        value = (value | value << 8) & 0x00FF_00FF_00FF_00FF
        value = (value | value << 4) & 0x0F0F_0F0F_0F0F_0F0F
        value = (value | value << 2) & 0x3333_3333_3333_3333
        return (value | value << 1) & 0x5555_5555_5555_5555
    }

    /// Moves each bit 2n to bit n.
    private static func gather(_ value: UInt64) -> UInt64 {
        var value = value & 0x5555_5555_5555_5555
        value = (value | value >> 1) & 0x3333_3333_3333_3333
        value = (value | value >> 2) & 0x0F0F_0F0F_0F0F_0F0F
        value = (value | value >> 4) & 0x00FF_00FF_00FF_00FF
        value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
        return (value | value >> 16) & 0xFFFF_FFFF
    }

    /// The range of the entries in this cell.
    var range: ByteRange {
        if level == 0 { return ByteRange(from: [OrderedBytes.Tag.location], to: [Self.elsewhere]) }
        let shift = UInt64(2 * (Self.deepest - level))
        let first = Self.interleave(x: x, y: y) << shift
        let (next, overflows) = first.addingReportingOverflow(1 << shift)
        let tag = [OrderedBytes.Tag.location]
        return ByteRange(
            from: tag + OrderedBytes.bigEndian(first),
            to: overflows ? [Self.elsewhere] : tag + OrderedBytes.bigEndian(next))
    }

    // MARK: - Radius filters

    /// Ranges that cover all locations at a distance between `inner` and `outer` metres from `center`. The ranges also
    /// include nearby locations; a higher limit of ranges includes fewer of these.
    static func covering(
        _ center: LocationValue, from inner: Double = 0, to outer: Double, ranges limit: Int = 20
    ) -> [ByteRange] {
        var cells: [LocationCell] = []
        var queue = [globe]
        var next = 0
        while next < queue.count {
            let cell = queue[next]
            next += 1
            let waiting = queue.count - next
            let isFine = cell.level == deepest || cell.height < outer / 16
            if isFine || cells.count + waiting + 3 > limit || cell.isWithin(center, inner, outer) {
                cells.append(cell)
            } else {
                queue += cell.quarters.filter { $0.meets(center, inner, outer) }
            }
        }
        var ranges = cells.map(\.range).sorted { $0.from.lexicographicallyPrecedes($1.from) }
        ranges.append(ByteRange(from: [elsewhere], to: [elsewhere + 1]))
        return joined(ranges)
    }

    private static func joined(_ ranges: [ByteRange]) -> [ByteRange] {
        var joined: [ByteRange] = []
        for range in ranges {
            if let last = joined.last, last.to == range.from {
                joined[joined.count - 1].to = range.to
            } else {
                joined.append(range)
            }
        }
        return joined
    }

    var quarters: [LocationCell] {
        [(0, 0), (1, 0), (0, 1), (1, 1)].map { LocationCell(level: level + 1, x: 2 * x + $0, y: 2 * y + $1) }
    }

    private var side: Double { 1 / Double(UInt64(1) << UInt64(level)) }
    private var south: Double { Double(y) * side * 180 - 90 }
    private var north: Double { south + side * 180 }
    private var west: Double { Double(x) * side * 360 - 180 }
    /// The distance from the cell's south edge to its north edge, in metres.
    private var height: Double { side * .pi * LocationValue.meanEarthRadius }

    /// The maximum error of computed distances, in metres.
    private static let tolerance = 1.0

    private func meets(_ center: LocationValue, _ inner: Double, _ outer: Double) -> Bool {
        least(from: center) <= outer + Self.tolerance
            && (inner <= 0 || greatest(from: center) >= inner - Self.tolerance)
    }

    private func isWithin(_ center: LocationValue, _ inner: Double, _ outer: Double) -> Bool {
        // The south or the north edge is at least half the height away from `center`, so this cheap check rejects most
        // cells.
        height <= 2 * outer && (inner <= 0 || least(from: center) >= inner) && greatest(from: center) <= outer
    }

    /// The distance from a point to the cell's nearest point, in metres.
    func least(from point: LocationValue) -> Double {
        let radians = Double.pi / 180
        if isBetweenMeridians(point.longitude) {
            let degrees = max(0, south - point.latitude, point.latitude - north)
            return degrees * radians * LocationValue.meanEarthRadius
        }
        // Along a parallel the distance grows with the difference in longitude, so the nearest point is on one of the
        // cell's meridian edges.
        let (south, north) = (south, north)
        let (sine, cosine) = (sin(point.latitude * radians), cos(point.latitude * radians))
        func least(at meridian: Double) -> Double {
            func distance(at latitude: Double) -> Double {
                point.distance(to: LocationValue(latitude: latitude, longitude: meridian))
            }
            // The latitude of the point at which the meridian's great circle is nearest to `point`.
            let nearest = atan2(sine, cosine * cos((meridian - point.longitude) * radians)) / radians
            let ends = min(distance(at: south), distance(at: north))
            return nearest > south && nearest < north ? min(ends, distance(at: nearest)) : ends
        }
        return min(least(at: west), least(at: west + side * 360))
    }

    /// The distance from a point to the cell's farthest point, in metres. The farthest point is nearest to the
    /// antipode.
    func greatest(from point: LocationValue) -> Double {
        let opposite = LocationValue(
            latitude: -point.latitude, longitude: point.longitude > 0 ? point.longitude - 180 : point.longitude + 180)
        return .pi * LocationValue.meanEarthRadius - least(from: opposite)
    }

    private func isBetweenMeridians(_ longitude: Double) -> Bool {
        var eastward = (longitude - west).truncatingRemainder(dividingBy: 360)
        if eastward < 0 { eastward += 360 }
        return eastward <= side * 360
    }
}
