#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension LocationValue {
    /// The mean radius of the Earth in metres.
    package static let meanEarthRadius = 6_371_008.8

    /// The great-circle distance to `other` in metres, on a sphere of the Earth's mean radius; ignores altitude.
    package func distance(to other: LocationValue) -> Double {
        let radians = Double.pi / 180
        let halfLatitude = sin((other.latitude - latitude) * radians / 2)
        let halfLongitude = sin((other.longitude - longitude) * radians / 2)
        let chord =
            halfLatitude * halfLatitude
            + cos(latitude * radians) * cos(other.latitude * radians) * halfLongitude * halfLongitude
        // Rounding can raise the chord of antipodal points above 1.
        return 2 * Self.meanEarthRadius * asin(min(1, chord.squareRoot()))
    }
}
