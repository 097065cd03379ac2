// swift-format-ignore-file: AlwaysUseLowerCamelCase, AvoidRetroactiveConformances, NoLeadingUnderscores

public import Foundation

/// Not for use by name: what is written `value as CVarArg` for a format's `%@`.
///
/// Apple's platforms turn every value with an Objective-C class into such an argument, and Xcode itself suggests
/// `NSPredicate(format: "date > %@", date as CVarArg)`. Foundation has it here for strings alone. A predicate takes the
/// value as it is; other formats (`String(format:)`, `NSLog`) print its description, as `%@` does everywhere.
public protocol _FormatArgument: _CVarArgObject {}

extension _FormatArgument {
    /// What is printed in its place.
    public var _cVarArgObject: any CVarArg { NSString(string: String(describing: self)) }
    /// Nothing: the object above is what is encoded.
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
