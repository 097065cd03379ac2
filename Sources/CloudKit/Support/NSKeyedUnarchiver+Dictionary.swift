public import Foundation

extension NSKeyedUnarchiver {
    /// Decodes a dictionary, such as apps keep of change tokens by zone. Apple's Foundation has it, Linux's has not.
    /// - Throws: what decoding fails with.
    public static func unarchivedDictionary<Key: NSObject & NSCopying & NSCoding, Object: NSObject & NSCoding>(
        ofKeyClass keyClass: Key.Type, objectClass: Object.Type, from data: Data
    ) throws -> [Key: Object]? {
        try unarchivedObject(ofClasses: [NSDictionary.self, keyClass, objectClass], from: data) as? [Key: Object]
    }
}
