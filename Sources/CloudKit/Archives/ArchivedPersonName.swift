import Foundation

/// A person's name in keyed archives. Apple's Foundation archives the name's parts as a separate object. This
/// platform's Foundation reads only a flat form, and the other form makes it fail the whole archive, and so an
/// identity's. This class reads both forms and writes Apple's.
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
        /// The outer object, which holds the parts.
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
    /// Decodes a name that `encode(_:forKey:)` or any platform's Foundation wrote.
    func personName(forKey key: String) -> PersonNameComponents? {
        // Set for this one object only: Foundation decodes the names that an app archives itself.
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
