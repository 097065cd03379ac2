// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(CoreLocation)
    /// A latitude or longitude in degrees.
    public typealias CLLocationDegrees = Double
    /// A distance or altitude in metres.
    public typealias CLLocationDistance = Double
    /// An accuracy as the radius of uncertainty in metres; negative if the measurement is invalid.
    public typealias CLLocationAccuracy = Double
    /// A speed in metres per second; negative if invalid.
    public typealias CLLocationSpeed = Double
    /// The uncertainty of a speed in metres per second; negative if invalid.
    public typealias CLLocationSpeedAccuracy = Double
    /// A direction in degrees clockwise from true north; negative if invalid.
    public typealias CLLocationDirection = Double
    /// The uncertainty of a direction in degrees; negative if invalid.
    public typealias CLLocationDirectionAccuracy = Double

    /// A position on the globe, in degrees of the WGS 84 reference frame.
    public struct CLLocationCoordinate2D: Sendable {
        /// Degrees north of the equator, -90 to 90.
        public var latitude: CLLocationDegrees
        /// Degrees east of the zero meridian, -180 to 180.
        public var longitude: CLLocationDegrees

        /// Creates the coordinate with latitude 0 and longitude 0.
        public init() {
            self.init(latitude: 0, longitude: 0)
        }

        /// Creates a coordinate from degrees. Positive degrees are north and east.
        public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
            self.latitude = latitude
            self.longitude = longitude
        }
    }

    /// A coordinate outside the valid ranges.
    public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

    /// Returns whether the coordinate's latitude and longitude are in their valid ranges.
    public func CLLocationCoordinate2DIsValid(_ coord: CLLocationCoordinate2D) -> Bool {
        (-90...90).contains(coord.latitude) && (-180...180).contains(coord.longitude)
    }

    /// Creates a coordinate from degrees, as ``CLLocationCoordinate2D/init(latitude:longitude:)`` does; for older code.
    public func CLLocationCoordinate2DMake(
        _ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees
    ) -> CLLocationCoordinate2D {
        CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
    }
#endif
