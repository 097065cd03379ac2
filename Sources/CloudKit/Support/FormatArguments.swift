// swift-format-ignore-file: AlwaysUseLowerCamelCase, AvoidRetroactiveConformances, NoLeadingUnderscores

public import Foundation

/// Not for use by name: makes `value as CVarArg` compile for a format's `%@`.
///
/// On Apple's platforms every value with an Objective-C class is such an argument, and Xcode itself suggests
/// `NSPredicate(format: "date > %@", date as CVarArg)`. Foundation supports only strings here. A predicate uses the
/// value itself; other formats (`String(format:)`, `NSLog`) print its description, as `%@` does everywhere.
public protocol _FormatArgument: _CVarArgObject {}

extension _FormatArgument {
    /// The printed text.
    public var _cVarArgObject: any CVarArg { NSString(string: String(describing: self)) }
    /// No encoding of its own: `_cVarArgObject` is encoded.
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
