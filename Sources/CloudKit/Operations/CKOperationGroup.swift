public import Foundation

/// A group of operations that form one activity for the user. It has a name, a default configuration and hints about
/// the transfer size (CKOperationGroup, Apple's documentation). A group is not atomic.
open class CKOperationGroup: NSObject, NSSecureCoding, @unchecked Sendable {
    // Unchecked, because NSObject is not Sendable: the lock of `state` guards all mutable state.

    /// The amount of data that a group's operations are expected to transfer.
    public enum TransferSize: Int, Hashable, Sendable, BitwiseCopyable {
        /// The amount of data is unknown.
        case unknown = 0
        /// Less than 1 MB.
        case kilobytes = 1
        /// From 1 to 10 MB.
        case megabytes = 2
        /// From 10 to 100 MB.
        case tensOfMegabytes = 3
        /// From 100 MB to 1 GB.
        case hundredsOfMegabytes = 4
        /// From 1 to 10 GB.
        case gigabytes = 5
        /// From 10 to 100 GB.
        case tensOfGigabytes = 6
        /// At least 100 GB.
        case hundredsOfGigabytes = 7
    }

    private struct State {
        var defaultConfiguration = CKOperation.Configuration()
        var name: String?
        var quantity = 0
        var expectedSendSize = TransferSize.unknown
        var expectedReceiveSize = TransferSize.unknown
    }

    private let state = Locked(State())

    /// A unique identifier, which the library generates.
    open var operationGroupID: String { identifier }
    private let identifier: String

    public override init() {
        identifier = Self.makeID()
    }

    /// The configuration that supplies values which the operations of the group do not set. Setting nil resets it.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var defaultConfiguration: CKOperation.Configuration! {
        get { state.defaultConfiguration }
        set { state.defaultConfiguration = newValue?.copied() ?? CKOperation.Configuration() }
    }

    /// The app's name for the group; nil for none.
    open var name: String? {
        get { state.name }
        set { state.name = newValue }
    }

    /// A number that the app chooses, such as the number of items to send.
    open var quantity: Int {
        get { state.quantity }
        set { state.quantity = newValue }
    }

    /// The amount of data that the app expects to send.
    open var expectedSendSize: TransferSize {
        get { state.expectedSendSize }
        set { state.expectedSendSize = newValue }
    }

    /// The amount of data that the app expects to receive.
    open var expectedReceiveSize: TransferSize {
        get { state.expectedReceiveSize }
        set { state.expectedReceiveSize = newValue }
    }

    private static func makeID() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
    }

    // MARK: NSSecureCoding

    private enum Key {
        static let identifier = "operationGroupID"
        static let name = "name"
        static let quantity = "quantity"
        static let sendSize = "expectedSendSize"
        static let receiveSize = "expectedReceiveSize"
        static let configuration = "defaultConfiguration"
        static let qualityOfService = configuration + ".qualityOfService"
        static let allowsCellularAccess = configuration + ".allowsCellularAccess"
        static let isLongLived = configuration + ".longLived"
        static let requestTimeout = configuration + ".timeoutIntervalForRequest"
        static let resourceTimeout = configuration + ".timeoutIntervalForResource"
    }

    open class var supportsSecureCoding: Bool { true }

    open override var classForKeyedArchiver: AnyClass? { ArchivedClass.operationGroup.archiverClass(for: self) }

    /// Decodes a group that was encoded by `encode(with:)`. Archives do not contain the container of the default
    /// configuration.
    public required init(coder aDecoder: NSCoder) {
        identifier = aDecoder.string(forKey: Key.identifier) ?? Self.makeID()
        super.init()
        var values = ConfigurationValues()
        if aDecoder.containsValue(forKey: Key.qualityOfService) {
            values.qualityOfService = QualityOfService(rawValue: aDecoder.decodeInteger(forKey: Key.qualityOfService))
        }
        if aDecoder.containsValue(forKey: Key.allowsCellularAccess) {
            values.allowsCellularAccess = aDecoder.decodeBool(forKey: Key.allowsCellularAccess)
        }
        if aDecoder.containsValue(forKey: Key.isLongLived) {
            values.isLongLived = aDecoder.decodeBool(forKey: Key.isLongLived)
        }
        if aDecoder.containsValue(forKey: Key.requestTimeout) {
            values.timeoutIntervalForRequest = aDecoder.decodeDouble(forKey: Key.requestTimeout)
        }
        if aDecoder.containsValue(forKey: Key.resourceTimeout) {
            values.timeoutIntervalForResource = aDecoder.decodeDouble(forKey: Key.resourceTimeout)
        }
        let name = aDecoder.string(forKey: Key.name)
        let quantity = aDecoder.containsValue(forKey: Key.quantity) ? aDecoder.decodeInteger(forKey: Key.quantity) : 0
        let sendSize: TransferSize? = aDecoder.value(forKey: Key.sendSize)
        let receiveSize: TransferSize? = aDecoder.value(forKey: Key.receiveSize)
        state.withLock { state in
            state.defaultConfiguration = CKOperation.Configuration(values)
            state.name = name
            state.quantity = quantity
            state.expectedSendSize = sendSize ?? .unknown
            state.expectedReceiveSize = receiveSize ?? .unknown
        }
    }

    open func encode(with coder: NSCoder) {
        let state = state.withLock { $0 }
        coder.encode(operationGroupID as NSString, forKey: Key.identifier)
        if let name = state.name { coder.encode(name as NSString, forKey: Key.name) }
        coder.encode(state.quantity, forKey: Key.quantity)
        coder.encode(state.expectedSendSize.rawValue, forKey: Key.sendSize)
        coder.encode(state.expectedReceiveSize.rawValue, forKey: Key.receiveSize)
        let values = state.defaultConfiguration.snapshot
        if let value = values.qualityOfService { coder.encode(value.rawValue, forKey: Key.qualityOfService) }
        if let value = values.allowsCellularAccess { coder.encode(value, forKey: Key.allowsCellularAccess) }
        if let value = values.isLongLived { coder.encode(value, forKey: Key.isLongLived) }
        if let value = values.timeoutIntervalForRequest { coder.encode(value, forKey: Key.requestTimeout) }
        if let value = values.timeoutIntervalForResource { coder.encode(value, forKey: Key.resourceTimeout) }
    }
}

/// The former name of `CKOperationGroup.TransferSize`.
@available(*, deprecated, renamed: "CKOperationGroup.TransferSize")
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize
