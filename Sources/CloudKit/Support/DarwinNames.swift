// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

// Names of Apple's systems that apps use and Linux's Foundation lacks.

/// Nanoseconds in a second (`dispatch/time.h`).
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
/// Nanoseconds in a millisecond (`dispatch/time.h`).
public let NSEC_PER_MSEC: UInt64 = 1_000_000
/// Nanoseconds in a microsecond (`dispatch/time.h`).
public let NSEC_PER_USEC: UInt64 = 1000
/// Microseconds in a second (`dispatch/time.h`).
public let USEC_PER_SEC: UInt64 = 1_000_000

extension UserDefaults {
    /// `set(_:forKey:)` under its key-value coding name, with which apps store change tokens. Nil removes the value.
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }
}
