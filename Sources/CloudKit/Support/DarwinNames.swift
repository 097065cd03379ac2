// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

// Names that apps have from Apple's systems and that Linux's Foundation lacks.

/// Nanoseconds in a second (`dispatch/time.h`).
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
/// Nanoseconds in a millisecond (`dispatch/time.h`).
public let NSEC_PER_MSEC: UInt64 = 1_000_000
/// Nanoseconds in a microsecond (`dispatch/time.h`).
public let NSEC_PER_USEC: UInt64 = 1000
/// Microseconds in a second (`dispatch/time.h`).
public let USEC_PER_SEC: UInt64 = 1_000_000

extension UserDefaults {
    /// `set(_:forKey:)` by its name of key-value coding, by which apps keep change tokens. Nil removes the value.
    @_disfavoredOverload
    public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }
}
