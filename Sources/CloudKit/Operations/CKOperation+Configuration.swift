public import Foundation

extension CKOperation {
    /// The configuration of an operation (CKOperation.Configuration, Apple's documentation).
    ///
    /// A value set here overrides the operation group's default configuration, even if it equals the default. A value
    /// that is not set falls back to the group's, and then to the default.
    open class Configuration: NSObject, @unchecked Sendable {
        // Unchecked, because NSObject is not Sendable: all state is behind the lock of `values`.
        private let values: Locked<ConfigurationValues>

        public required override init() { values = Locked(ConfigurationValues()) }

        init(_ values: ConfigurationValues) { self.values = Locked(values) }

        /// The operation's container; nil means `CKContainer.default()`.
        open var container: CKContainer? {
            get { values.container ?? nil }
            set { values.container = .some(newValue) }
        }

        /// The operation's quality of service; `.default` unless set.
        open var qualityOfService: QualityOfService {
            get { values.qualityOfService ?? .default }
            set { values.qualityOfService = newValue }
        }

        /// For source compatibility: this platform does not distinguish cellular networks. True unless set.
        open var allowsCellularAccess: Bool {
            get { values.allowsCellularAccess ?? true }
            set { values.allowsCellularAccess = newValue }
        }

        /// For source compatibility: operations do not outlive the process here. False unless set.
        open var isLongLived: Bool {
            get { values.isLongLived ?? false }
            set { values.isLongLived = newValue }
        }

        /// The seconds for which the service may stay silent; 60 unless set.
        open var timeoutIntervalForRequest: TimeInterval {
            get { values.timeoutIntervalForRequest ?? ConfigurationValues.defaultRequestTimeout }
            set { values.timeoutIntervalForRequest = newValue }
        }

        /// The seconds that a whole request may take; seven days unless set, and no limit for user-initiated
        /// operations.
        open var timeoutIntervalForResource: TimeInterval {
            get { values.timeoutIntervalForResource ?? ConfigurationValues.defaultResourceTimeout }
            set { values.timeoutIntervalForResource = newValue }
        }

        /// The values set so far.
        var snapshot: ConfigurationValues { values.withLock { $0 } }

        /// Returns a configuration with the same values set.
        func copied() -> Configuration { Configuration(snapshot) }
    }
}

/// The values of a configuration; nil means not set.
struct ConfigurationValues: Sendable {
    /// Seconds (CKOperation.Configuration, Apple's documentation).
    static let defaultRequestTimeout: TimeInterval = 60
    /// Seconds: seven days (CKOperation.Configuration, Apple's documentation).
    static let defaultResourceTimeout: TimeInterval = 604_800

    // Doubly optional, because nil can be set.
    var container: CKContainer??
    var qualityOfService: QualityOfService?
    var allowsCellularAccess: Bool?
    var isLongLived: Bool?
    var timeoutIntervalForRequest: TimeInterval?
    var timeoutIntervalForResource: TimeInterval?

    /// Returns these values, with `fallback` for the values that are not set.
    func merged(over fallback: ConfigurationValues?) -> ConfigurationValues {
        guard let fallback else { return self }
        var merged = self
        merged.container = container ?? fallback.container
        merged.qualityOfService = qualityOfService ?? fallback.qualityOfService
        merged.allowsCellularAccess = allowsCellularAccess ?? fallback.allowsCellularAccess
        merged.isLongLived = isLongLived ?? fallback.isLongLived
        merged.timeoutIntervalForRequest = timeoutIntervalForRequest ?? fallback.timeoutIntervalForRequest
        merged.timeoutIntervalForResource = timeoutIntervalForResource ?? fallback.timeoutIntervalForResource
        return merged
    }

    /// The seconds that a whole request may take; nil means no limit, as for user-initiated operations.
    var resourceTimeout: TimeInterval? {
        if let timeoutIntervalForResource { return timeoutIntervalForResource }
        switch qualityOfService ?? .default {
        case .userInteractive, .userInitiated: return nil
        default: return Self.defaultResourceTimeout
        }
    }
}
