public import Foundation

/// A type of value that a record's field can have, as Swift code sees it.
public protocol CKRecordValueProtocol {}

/// A type of object that CloudKit stores in a record's field. Use its public name, `CKRecordValue`.
///
/// Without Objective-C, `"text" as CKRecordValue` cannot bridge to an `NSString`, so Swift's own value types conform to
/// the protocol as well.
public protocol __CKRecordObjCValue: CKRecordValueProtocol {}

extension __CKRecordObjCValue {
    /// The value as text. Apple's protocol inherits this property from `NSObjectProtocol`, to which Swift's value types
    /// cannot conform.
    public var description: String { String(describing: self) }

    /// Returns whether the other object is the same value of a field: 1 and 1.0 are the same. Apple's protocol inherits
    /// this method and `hash` from `NSObjectProtocol`.
    public func isEqual(_ object: Any?) -> Bool {
        guard let value = RecordValue(self), let other = object.flatMap(RecordValue.init) else { return false }
        return value.isSame(as: other)
    }

    /// The hash of the value. Equal values have equal hashes.
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

/// The type of objects that CloudKit stores in a record's fields.
public typealias CKRecordValue = __CKRecordObjCValue

/// An object whose fields are read and set by key: a record, or a record's encrypted values.
public protocol CKRecordKeyValueSetting: NSObjectProtocol {
    /// Returns the value of a field; nil if the field has none.
    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)?
    /// Sets the value of a field; nil removes the field.
    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey)
    subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? { get set }
    /// Returns the keys of the fields that have a value.
    func allKeys() -> [CKRecord.FieldKey]
    /// Returns the keys of the fields that changed since the record was last saved or fetched.
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The field's value as a `T`; nil if the field has no value, or a value of another type. Numbers are converted as
    /// `NSNumber` converts them: 3.7 is 3 as an `Int?`.
    public subscript<T: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> T? {
        get {
            let value = object(forKey: key)
            if let number = value as? NSNumber, let type = T.self as? any NumericRecordValue.Type {
                return type.init(truncating: number) as? T
            }
            if let list = value as? NSArray, let type = T.self as? any NumericRecordList.Type {
                return type.init(truncating: list) as? T
            }
            return value as? T
        }
        set { setObject(newValue.map { RecordValue(checking: $0).object }, forKey: key) }
    }

    /// The field's value in one of Swift's own types if there is one: numbers are `Int64` or `Double`. Nil if the field
    /// has no value; setting nil removes the field.
    @_disfavoredOverload
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key).flatMap { RecordValue($0)?.native } }
        set { setObject(newValue.map { RecordValue(checking: $0).object }, forKey: key) }
    }
}

/// A number type to which reading a field converts the field's value.
private protocol NumericRecordValue {
    init(truncating number: NSNumber)
}

/// A list of such numbers.
private protocol NumericRecordList {
    init?(truncating list: NSArray)
}

extension Array: NumericRecordList where Element: NumericRecordValue {
    /// - Returns: nil if an element is no number.
    init?(truncating list: NSArray) {
        let numbers = (0..<list.count).compactMap { list.object(at: $0) as? NSNumber }
        guard numbers.count == list.count else { return nil }
        self = numbers.map(Element.init(truncating:))
    }
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
// Arrays of every element type conform, because on Apple's platforms every array bridges to `NSArray`: there `as?
// CKRecordValue` accepts an array of `Any` that contains strings. Setting a field refuses unsupported elements.
extension Array: __CKRecordObjCValue {}
// On Apple's platforms these types bridge to `NSNumber`.
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
