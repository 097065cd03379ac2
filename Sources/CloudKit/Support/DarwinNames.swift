// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

// Names of Apple's systems that apps use but Foundation on Linux lacks.

/// The number of nanoseconds in a second (`dispatch/time.h`).
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
/// The number of nanoseconds in a millisecond (`dispatch/time.h`).
public let NSEC_PER_MSEC: UInt64 = 1_000_000
/// The number of nanoseconds in a microsecond (`dispatch/time.h`).
public let NSEC_PER_USEC: UInt64 = 1000
/// The number of microseconds in a second (`dispatch/time.h`).
public let USEC_PER_SEC: UInt64 = 1_000_000

extension UserDefaults {
    /// Sets a value as `set(_:forKey:)` does, under the name of key-value coding. Apps store change tokens by this
    /// method. Nil removes the value.
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }
}
