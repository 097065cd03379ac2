import CloudKit
import Testing

@Suite struct LocationTests {
    private let berlin = CLLocation(latitude: 52.52, longitude: 13.405)

    @Test func `a location made from a coordinate has no altitude, course or speed`() {
        #expect(berlin.coordinate.latitude == 52.52)
        #expect(berlin.coordinate.longitude == 13.405)
        #expect(berlin.altitude == 0)
        #expect(berlin.horizontalAccuracy == 0)
        #expect(berlin.verticalAccuracy == -1)
        #expect(berlin.course == -1)
        #expect(berlin.speed == -1)
    }

    @Test func `distances are in metres along the surface of the Earth`() {
        let paris = CLLocation(latitude: 48.8566, longitude: 2.3522)
        let distance = berlin.distance(from: paris)
        #expect(abs(distance - 878_000) < 5_000)
        #expect(abs(paris.distance(from: berlin) - distance) < 0.001)
        #expect(berlin.distance(from: berlin) == 0)
        let north = CLLocation(latitude: 90, longitude: 0)
        let south = CLLocation(latitude: -90, longitude: 77)
        #expect(abs(north.distance(from: south) - 20_015_000) < 1_000)
    }

    @Test func `locations are equal if all measurements are`() {
        let coordinate = CLLocationCoordinate2D(latitude: 1, longitude: 2)
        let date = Date(timeIntervalSince1970: 3)
        func location(altitude: Double) -> CLLocation {
            CLLocation(
                coordinate: coordinate, altitude: altitude, horizontalAccuracy: 1, verticalAccuracy: 2, course: 3,
                courseAccuracy: 4, speed: 5, speedAccuracy: 6, timestamp: date)
        }
        #expect(location(altitude: 7) == location(altitude: 7))
        #expect(location(altitude: 7).hash == location(altitude: 7).hash)
        #expect(location(altitude: 7) != location(altitude: 8))
    }

    @Test func `a location comes back from an archive`() throws {
        let location = CLLocation(
            coordinate: CLLocationCoordinate2DMake(-33.8, 151.2), altitude: 7, horizontalAccuracy: 1,
            verticalAccuracy: 2, course: 3, courseAccuracy: 4, speed: 5, speedAccuracy: 6,
            timestamp: Date(timeIntervalSince1970: 0.25))
        let data = try NSKeyedArchiver.archivedData(withRootObject: location, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CLLocation.self, from: data) == location)
    }

    @Test func `a coordinate is valid on the globe`() {
        #expect(CLLocationCoordinate2DIsValid(berlin.coordinate))
        #expect(!CLLocationCoordinate2DIsValid(kCLLocationCoordinate2DInvalid))
        #expect(!CLLocationCoordinate2DIsValid(CLLocationCoordinate2D(latitude: 90.1, longitude: 0)))
        #expect(!CLLocationCoordinate2DIsValid(CLLocationCoordinate2D(latitude: .nan, longitude: 0)))
    }
}
