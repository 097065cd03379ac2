// swift-format-ignore-file: AlwaysUseLowerCamelCase, AvoidRetroactiveConformances, NoLeadingUnderscores

public import Foundation

/// A protocol that makes `value as CVarArg` compile for a format's `%@`. Apps do not use it by name.
///
/// On Apple's platforms every value with an Objective-C class conforms to `CVarArg`, and Xcode itself suggests
/// `NSPredicate(format: "date > %@", date as CVarArg)`. Foundation on Linux supports only strings. A predicate uses the
/// value itself. Other formats (`String(format:)`, `NSLog`) print the value's description, as `%@` does on every
/// platform.
public protocol _FormatArgument: _CVarArgObject {}

extension _FormatArgument {
    /// The string that a format prints: the value's description.
    public var _cVarArgObject: any CVarArg { NSString(string: String(describing: self)) }
    /// No encoding of the value's own, because `_cVarArgObject` is encoded instead.
    public var _cVarArgEncoding: [Int] { [0] }
}

extension Array: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension Dictionary: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension Data: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension Date: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension Set: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension URL: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}

extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSData: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSDictionary: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSError: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSNull: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSURL: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSNumber: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}
extension NSSet: @retroactive CVarArg, @retroactive _CVarArgObject, _FormatArgument {}

extension CKAsset: _FormatArgument {}
extension CKRecord: _FormatArgument {}
extension CKRecord.ID: _FormatArgument {}
extension CKRecord.Reference: _FormatArgument {}
extension CKRecordZone: _FormatArgument {}
extension CKRecordZone.ID: _FormatArgument {}
extension CKServerChangeToken: _FormatArgument {}
extension CLLocation: _FormatArgument {}
