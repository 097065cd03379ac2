public import Foundation

extension NSKeyedUnarchiver {
    /// Decodes a dictionary, such as an app's change tokens by zone. Foundation on Linux lacks this method of Apple's
    /// Foundation.
    /// - Throws: the error of the decoding.
    public static func unarchivedDictionary<Key: NSObject & NSCopying & NSCoding, Object: NSObject & NSCoding>(
        ofKeyClass keyClass: Key.Type, objectClass: Object.Type, from data: Data
    ) throws -> [Key: Object]? {
        try unarchivedObject(ofClasses: [NSDictionary.self, keyClass, objectClass], from: data) as? [Key: Object]
    }
}
