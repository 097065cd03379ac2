public import Foundation

// Properties that have moved to the configuration of the operation.
extension CKOperation {
    @available(*, deprecated, message: "use the configuration's container")
    public var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    @available(*, deprecated, message: "use the configuration's allowsCellularAccess")
    public var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    @available(*, deprecated, message: "use the configuration's isLongLived")
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    @available(*, deprecated, message: "use the configuration's timeoutIntervalForRequest")
    public var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    @available(*, deprecated, message: "use the configuration's timeoutIntervalForResource")
    public var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }
}

/// The former name of `CKOperation.ID`.
@available(*, deprecated, renamed: "CKOperation.ID")
public typealias CKOperationID = CKOperation.ID
/// The former name of `CKOperation.Configuration`.
@available(*, deprecated, renamed: "CKOperation.Configuration")
public typealias CKOperationConfiguration = CKOperation.Configuration
