import NephosTesting
import NephosWire
import Testing

@testable import NephosService

@Suite("Cells of locations")
struct LocationCellTests {
    private func point(_ random: inout SeededGenerator) -> LocationValue {
        let latitudes = [90.0, -90, 0, 89.99, Double.random(in: -90...90, using: &random)]
        let longitudes = [180.0, -180, 0, 179.99, Double.random(in: -180...180, using: &random)]
        return LocationValue(
            latitude: random.chance(30) ? random.pick(latitudes) : Double.random(in: -90...90, using: &random),
            longitude: random.chance(30) ? random.pick(longitudes) : Double.random(in: -180...180, using: &random))
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `every location in a ring is in the ranges that cover it`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var inside = 0
        for _ in 0..<300 {
            let center = point(&random)
            let outer = random.pick([1, 500, 20_000, 300_000, 5_000_000, 20_100_000] as [Double])
            let inner = random.chance(50) ? 0 : outer * Double.random(in: 0...1, using: &random)
            let ranges = LocationCell.covering(center, from: inner, to: outer)
            #expect(ranges.count <= 24)
            for _ in 0..<60 {
                // Some nearby, for the small circles.
                let scale = outer / 111_000 * Double.random(in: 0...1.5, using: &random)
                let near = LocationValue(
                    latitude: min(90, max(-90, center.latitude + scale * Double.random(in: -1...1, using: &random))),
                    longitude: min(180, max(-180, center.longitude + scale * Double.random(in: -1...1, using: &random)))
                )
                let other = random.chance(50) ? near : point(&random)
                let distance = center.distance(to: other)
                guard distance >= inner && distance <= outer else { continue }
                inside += 1
                let entry = LocationCell.entry(other)
                let isCovered = ranges.contains {
                    !entry.lexicographicallyPrecedes($0.from) && entry.lexicographicallyPrecedes($0.to)
                }
                #expect(isCovered, "seed \(seed): \(other) is \(distance) m from \(center), of \(inner) to \(outer)")
            }
        }
        #expect(inside > 1000)
    }

    @Test func `a small radius reads a small part of the globe`() {
        let ranges = LocationCell.covering(LocationValue(latitude: 48.2, longitude: 16.4), to: 10_000)
        var random = SeededGenerator(seed: 1)
        let others = (0..<5000).filter { _ in
            let entry = LocationCell.entry(
                LocationValue(
                    latitude: Double.random(in: 45...51, using: &random),
                    longitude: Double.random(in: 12...20, using: &random)))
            return ranges.contains {
                !entry.lexicographicallyPrecedes($0.from) && entry.lexicographicallyPrecedes($0.to)
            }
        }
        // The circle is 0.08 % of the region.
        #expect(others.count < 25)
    }

    @Test func `an entry decodes to its location, also an impossible one`() {
        for (latitude, longitude) in [(0, 0), (-12.5, 179.25), (90, -180), (1234, -5678), (-0.0, 0.0)]
            as [(Double, Double)]
        {
            let entry = LocationCell.entry(LocationValue(latitude: latitude, longitude: longitude))
            let location = LocationCell.location(of: entry[...])
            #expect(location?.latitude == latitude && location?.longitude == longitude)
        }
        #expect(LocationCell.location(of: [OrderedBytes.Tag.missing]) == nil)
    }
}
