public import Foundation

/// Anything that a record's field can hold, seen from Swift.
public protocol CKRecordValueProtocol {}

/// An object that CloudKit stores in a record's field; use its name `CKRecordValue`.
///
/// There is no Objective-C here to turn `"text" as CKRecordValue` into an `NSString`, so Swift's own value types adopt
/// the protocol as well.
public protocol __CKRecordObjCValue: CKRecordValueProtocol {}

extension __CKRecordObjCValue {
    /// The value as text. Apple's protocol has it from `NSObjectProtocol`, which Swift's value types cannot adopt.
    public var description: String { String(describing: self) }

    /// Whether the other object is the same value of a field: 1 and 1.0 are. Apple's protocol has it from
    /// `NSObjectProtocol`, as it has `hash`.
    public func isEqual(_ object: Any?) -> Bool {
        guard let value = RecordValue(self), let other = object.flatMap(RecordValue.init) else { return false }
        return value.isSame(as: other)
    }

    /// The same for values that are equal.
    @_disfavoredOverload
    public var hash: Int {
        switch RecordValue(self) {
        case .asset(let asset)?: asset.fileURL.hashValue
        case .list(let values)?: values.count
        case let value?: (value.object as? NSObject)?.hash ?? 0
        case nil: 0
        }
    }
}

/// A data type for objects that CloudKit stores in a record's field.
public typealias CKRecordValue = __CKRecordObjCValue

/// Something that has fields which are read and set by key: a record, or its encrypted values.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
    /// The value of a field; nil where the field has none.
    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)?
    /// Gives a field a value; nil removes the field.
    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey)
    subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? { get set }
    /// The keys of the fields that have a value.
    func allKeys() -> [CKRecord.FieldKey]
    /// The keys of the fields that changed since the record was last saved or fetched.
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The field's value as a `T`; nil where the field has no value or holds another type. Numbers are converted, as
    /// `NSNumber` does it: 3.7 is 3 for an `Int?`.
    public subscript<T: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> T? {
        get {
            let value = object(forKey: key)
            if let number = value as? NSNumber, let type = T.self as? any NumericRecordValue.Type {
                return type.init(truncating: number) as? T
            }
            return value as? T
        }
        set { setObject(newValue.map { RecordValue(checking: $0).object }, forKey: key) }
    }

    /// The field's value as one of Swift's own types where there is one: numbers are `Int64` or `Double`. Nil removes
    /// the field.
    @_disfavoredOverload
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key).flatMap { RecordValue($0)?.native } }
        set { setObject(newValue.map { RecordValue(checking: $0).object }, forKey: key) }
    }
}

/// A number that a field's value is converted to when it is asked for.
private protocol NumericRecordValue {
    init(truncating number: NSNumber)
}

extension Bool: NumericRecordValue {}
extension CGFloat: NumericRecordValue {
    init(truncating number: NSNumber) { self = CGFloat(number.doubleValue) }
}
extension Double: NumericRecordValue {}
extension Float: NumericRecordValue {}
extension Int: NumericRecordValue {}
extension Int8: NumericRecordValue {}
extension Int16: NumericRecordValue {}
extension Int32: NumericRecordValue {}
extension Int64: NumericRecordValue {}
extension UInt: NumericRecordValue {}
extension UInt8: NumericRecordValue {}
extension UInt16: NumericRecordValue {}
extension UInt32: NumericRecordValue {}
extension UInt64: NumericRecordValue {}

extension String: __CKRecordObjCValue {}
extension Bool: __CKRecordObjCValue {}
extension Double: __CKRecordObjCValue {}
extension Float: __CKRecordObjCValue {}
extension Int: __CKRecordObjCValue {}
extension Int8: __CKRecordObjCValue {}
extension Int16: __CKRecordObjCValue {}
extension Int32: __CKRecordObjCValue {}
extension Int64: __CKRecordObjCValue {}
extension UInt: __CKRecordObjCValue {}
extension UInt8: __CKRecordObjCValue {}
extension UInt16: __CKRecordObjCValue {}
extension UInt32: __CKRecordObjCValue {}
extension UInt64: __CKRecordObjCValue {}
extension Date: __CKRecordObjCValue {}
extension Data: __CKRecordObjCValue {}
// Whatever its elements: an array of `Any` that holds strings is a value, as `as? CKRecordValue` finds on Apple's
// platforms, where every array turns into an `NSArray`. What a record cannot hold is refused when it is set.
extension Array: __CKRecordObjCValue {}
// Apple's platforms turn these into an `NSNumber`.
extension CGFloat: __CKRecordObjCValue {}
extension Decimal: __CKRecordObjCValue {}

extension NSString: __CKRecordObjCValue {}
extension NSNumber: __CKRecordObjCValue {}
extension NSDate: __CKRecordObjCValue {}
extension NSData: __CKRecordObjCValue {}
extension NSArray: __CKRecordObjCValue {}
extension CLLocation: __CKRecordObjCValue {}
extension CKRecord.Reference: __CKRecordObjCValue {}
extension CKAsset: __CKRecordObjCValue {}
