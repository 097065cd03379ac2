#if !canImport(CoreLocation)
    public import Foundation

    /// A geographic position with further measurements. Two locations are equal if all their properties are equal.
    open class CLLocation: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
        // All stored properties are constants of Sendable types; an open class needs `@unchecked` nevertheless.
        /// Latitude and longitude, in degrees.
        public let coordinate: CLLocationCoordinate2D
        /// The altitude in metres above mean sea level.
        public let altitude: CLLocationDistance
        /// The radius of uncertainty of `coordinate` in metres; negative if `coordinate` is invalid.
        public let horizontalAccuracy: CLLocationAccuracy
        /// The uncertainty of `altitude` in metres; negative if `altitude` is invalid.
        public let verticalAccuracy: CLLocationAccuracy
        /// The direction of travel in degrees clockwise from true north; negative if unknown.
        public let course: CLLocationDirection
        /// The uncertainty of `course` in degrees; negative if unknown.
        public let courseAccuracy: CLLocationDirectionAccuracy
        /// The speed in metres per second; negative if unknown.
        public let speed: CLLocationSpeed
        /// The uncertainty of `speed` in metres per second; negative if unknown.
        public let speedAccuracy: CLLocationSpeedAccuracy
        /// The time at which the location was measured.
        public let timestamp: Date

        /// Creates a location measured at the current time, without altitude, course and speed.
        public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
            self.init(
                coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
                horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date())
        }

        /// Creates a location with an altitude and accuracies in metres, measured at `timestamp`. A negative accuracy
        /// marks an unknown value.
        public convenience init(
            coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
            verticalAccuracy: CLLocationAccuracy, timestamp: Date
        ) {
            self.init(
                coordinate: coordinate, altitude: altitude, horizontalAccuracy: horizontalAccuracy,
                verticalAccuracy: verticalAccuracy, course: -1, speed: -1, timestamp: timestamp)
        }

        /// Creates a location with a course in degrees clockwise from true north and a speed in metres per second. Both
        /// are negative if unknown.
        public convenience init(
            coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
            verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed, timestamp: Date
        ) {
            self.init(
                coordinate: coordinate, altitude: altitude, horizontalAccuracy: horizontalAccuracy,
                verticalAccuracy: verticalAccuracy, course: course, courseAccuracy: -1, speed: speed,
                speedAccuracy: -1, timestamp: timestamp)
        }

        /// Creates a location with all measurements. A negative accuracy, course or speed marks an unknown value.
        public init(
            coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy: CLLocationAccuracy,
            verticalAccuracy: CLLocationAccuracy, course: CLLocationDirection,
            courseAccuracy: CLLocationDirectionAccuracy, speed: CLLocationSpeed,
            speedAccuracy: CLLocationSpeedAccuracy, timestamp: Date
        ) {
            self.coordinate = coordinate
            self.altitude = altitude
            self.horizontalAccuracy = horizontalAccuracy
            self.verticalAccuracy = verticalAccuracy
            self.course = course
            self.courseAccuracy = courseAccuracy
            self.speed = speed
            self.speedAccuracy = speedAccuracy
            self.timestamp = timestamp
        }

        /// Returns the distance to `location` in metres, along the surface of a sphere of the Earth's mean radius.
        /// Ignores altitudes.
        open func distance(from location: CLLocation) -> CLLocationDistance {
            let meanRadius = 6_371_008.8
            let latitude = coordinate.latitude * .pi / 180
            let otherLatitude = location.coordinate.latitude * .pi / 180
            let latitudes = sin((otherLatitude - latitude) / 2)
            let longitudes = sin((location.coordinate.longitude - coordinate.longitude) * .pi / 360)
            let haversine = latitudes * latitudes + cos(latitude) * cos(otherLatitude) * longitudes * longitudes
            return 2 * meanRadius * asin(min(1, haversine.squareRoot()))
        }

        open class var supportsSecureCoding: Bool { true }

        public required init?(coder: NSCoder) {
            guard coder.containsValue(forKey: Key.latitude), coder.containsValue(forKey: Key.longitude)
            else { return nil }
            func number(_ key: String, else missing: Double) -> Double {
                coder.containsValue(forKey: key) ? coder.decodeDouble(forKey: key) : missing
            }
            coordinate = CLLocationCoordinate2D(
                latitude: coder.decodeDouble(forKey: Key.latitude),
                longitude: coder.decodeDouble(forKey: Key.longitude))
            altitude = number(Key.altitude, else: 0)
            horizontalAccuracy = number(Key.horizontalAccuracy, else: 0)
            verticalAccuracy = number(Key.verticalAccuracy, else: -1)
            course = number(Key.course, else: -1)
            courseAccuracy = number(Key.courseAccuracy, else: -1)
            speed = number(Key.speed, else: -1)
            speedAccuracy = number(Key.speedAccuracy, else: -1)
            timestamp = Date(timeIntervalSinceReferenceDate: number(Key.timestamp, else: 0))
        }

        open func encode(with coder: NSCoder) {
            coder.encode(coordinate.latitude, forKey: Key.latitude)
            coder.encode(coordinate.longitude, forKey: Key.longitude)
            coder.encode(altitude, forKey: Key.altitude)
            coder.encode(horizontalAccuracy, forKey: Key.horizontalAccuracy)
            coder.encode(verticalAccuracy, forKey: Key.verticalAccuracy)
            coder.encode(course, forKey: Key.course)
            coder.encode(courseAccuracy, forKey: Key.courseAccuracy)
            coder.encode(speed, forKey: Key.speed)
            coder.encode(speedAccuracy, forKey: Key.speedAccuracy)
            coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: Key.timestamp)
        }

        open override var classForKeyedArchiver: AnyClass? { ArchivedClass.location.archiverClass }

        open func copy(with zone: NSZone? = nil) -> Any { self }

        open override func isEqual(_ object: Any?) -> Bool {
            guard let other = object as? CLLocation else { return false }
            return self === other || (measurements == other.measurements && timestamp == other.timestamp)
        }

        open override var hash: Int { measurements.hashValue }

        open override var description: String {
            "<\(coordinate.latitude),\(coordinate.longitude)> +/- \(horizontalAccuracy)m "
                + "(speed \(speed) mps / course \(course)) @ \(timestamp)"
        }

        open override var debugDescription: String { description }

        private var measurements: [Double] {
            [
                coordinate.latitude, coordinate.longitude, altitude, horizontalAccuracy, verticalAccuracy, course,
                courseAccuracy, speed, speedAccuracy,
            ]
        }

        /// The keys of a location in Core Location's archives.
        private enum Key {
            static let latitude = "kCLLocationCodingKeyCoordinateLatitude"
            static let longitude = "kCLLocationCodingKeyCoordinateLongitude"
            static let altitude = "kCLLocationCodingKeyAltitude"
            static let horizontalAccuracy = "kCLLocationCodingKeyHorizontalAccuracy"
            static let verticalAccuracy = "kCLLocationCodingKeyVerticalAccuracy"
            static let course = "kCLLocationCodingKeyCourse"
            static let courseAccuracy = "kCLLocationCodingKeyCourseAccuracy"
            static let speed = "kCLLocationCodingKeySpeed"
            static let speedAccuracy = "kCLLocationCodingKeySpeedAccuracy"
            static let timestamp = "kCLLocationCodingKeyTimestamp"
        }
    }
#endif
