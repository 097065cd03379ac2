import Foundation

/// A person's name in keyed archives. Apple's Foundation archives the parts of the name as a separate object.
/// Foundation on this platform reads only a flat form: Apple's form makes it fail the whole archive, for example an
/// identity's. This class reads both forms and writes Apple's form.
final class ArchivedPersonName: NSObject, NSSecureCoding {
    private enum Key {
        static let parts = "NS.nameComponentsPrivate"
        static let phoneticRepresentation = "NS.phoneticRepresentation"
        static let strings: [(String, any WritableKeyPath<PersonNameComponents, String?> & Sendable)] = [
            ("NS.namePrefix", \.namePrefix), ("NS.givenName", \.givenName), ("NS.middleName", \.middleName),
            ("NS.familyName", \.familyName), ("NS.nameSuffix", \.nameSuffix), ("NS.nickname", \.nickname),
        ]
    }

    private enum Form {
        /// The outer object of Apple's form, which refers to the parts.
        case name
        case parts
    }

    let components: PersonNameComponents
    private let form: Form

    convenience init(_ components: PersonNameComponents) {
        self.init(components, form: .name)
    }

    private init(_ components: PersonNameComponents, form: Form) {
        self.components = components
        self.form = form
    }

    static var supportsSecureCoding: Bool { true }

    init?(coder: NSCoder) {
        form = .name
        if let parts = coder.object(of: ArchivedPersonName.self, forKey: Key.parts) {
            components = parts.components
            return
        }
        var components = PersonNameComponents()
        for (key, part) in Key.strings { components[keyPath: part] = coder.string(forKey: key) }
        components.phoneticRepresentation = coder.personName(forKey: Key.phoneticRepresentation)
        self.components = components
    }

    func encode(with coder: NSCoder) {
        switch form {
        case .name: coder.encode(ArchivedPersonName(components, form: .parts), forKey: Key.parts)
        case .parts:
            for (key, part) in Key.strings { coder.encode(components[keyPath: part], forKey: key) }
            coder.encode(components.phoneticRepresentation, forKey: Key.phoneticRepresentation)
        }
    }

    override var classForKeyedArchiver: AnyClass? {
        switch form {
        case .name: ArchivedClass.personName.archiverClass
        case .parts: ArchivedClass.personNameParts.archiverClass
        }
    }
}

extension NSCoder {
    /// Decodes a name that `encode(_:forKey:)` or any platform's Foundation encoded; nil if there is none.
    func personName(forKey key: String) -> PersonNameComponents? {
        // The class is set only while this object is decoded, because Foundation decodes the names that an app itself
        // archives.
        let (unarchiver, className) = (self as? NSKeyedUnarchiver, ArchivedClass.personName.name)
        let before: AnyClass? = unarchiver?.class(forClassName: className)
        unarchiver?.setClass(ArchivedPersonName.self, forClassName: className)
        defer { unarchiver?.setClass(before, forClassName: className) }
        return object(of: ArchivedPersonName.self, forKey: key)?.components
    }

    func encode(_ name: PersonNameComponents?, forKey key: String) {
        encode(name.map(ArchivedPersonName.init), forKey: key)
    }
}
