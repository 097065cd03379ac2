/// A JSON document that keeps its order and the text of its scalars, to edit and write again.
indirect enum JSONTree {
    case object([(key: String, value: JSONTree)])
    case array([JSONTree])
    /// A string in its quotes, a number, `true`, `false` or `null`.
    case scalar(String)

    /// - Parameter text: valid JSON without spaces.
    init(_ text: String) {
        var rest = Substring(text)
        self.init(reading: &rest)
    }

    private init(reading rest: inout Substring) {
        switch rest.first {
        case "{":
            var members: [(key: String, value: JSONTree)] = []
            rest.removeFirst()
            while rest.first != "}" {
                let key = String(Self.scalar(&rest).dropFirst().dropLast())
                rest.removeFirst()
                members.append((key, JSONTree(reading: &rest)))
                if rest.first == "," { rest.removeFirst() }
            }
            rest.removeFirst()
            self = .object(members)
        case "[":
            var elements: [JSONTree] = []
            rest.removeFirst()
            while rest.first != "]" {
                elements.append(JSONTree(reading: &rest))
                if rest.first == "," { rest.removeFirst() }
            }
            rest.removeFirst()
            self = .array(elements)
        default: self = .scalar(Self.scalar(&rest))
        }
    }

    private static func scalar(_ rest: inout Substring) -> String {
        var scalar = ""
        let isString = rest.first == "\""
        while let next = rest.first, isString || !",:]}".contains(next) {
            scalar.append(rest.removeFirst())
            if next == "\\" { scalar.append(rest.removeFirst()) }
            if isString, next == "\"", scalar.count > 1 { break }
        }
        return scalar
    }

    var text: String {
        switch self {
        case .object(let members): "{" + members.map { "\"\($0.key)\":\($0.value.text)" }.joined(separator: ",") + "}"
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .scalar(let text): text
        }
    }

    enum Step {
        case member(String)
        case element(Int)
    }

    /// The paths of all values in the document's order; of an array only the first element's.
    var paths: [[Step]] {
        switch self {
        case .object(let members): members.flatMap { key, value in value.paths(below: .member(key)) }
        case .array(let elements): elements.prefix(1).flatMap { $0.paths(below: .element(0)) }
        case .scalar: []
        }
    }

    private func paths(below step: Step) -> [[Step]] { [[step]] + paths.map { [step] + $0 } }

    /// The value at a path; nil if there is none.
    subscript(path: some Collection<Step>) -> JSONTree? {
        guard let step = path.first else { return self }
        switch (self, step) {
        case (.object(let members), .member(let key)):
            return members.first { $0.key == key }?.value[path.dropFirst()]
        case (.array(let elements), .element(let index)):
            return index < elements.count ? elements[index][path.dropFirst()] : nil
        default: return nil
        }
    }

    /// The document with another value at a path, or with none there.
    func replacing(_ path: some Collection<Step>, with value: JSONTree?) -> JSONTree? {
        guard let step = path.first else { return value }
        let below = path.dropFirst()
        switch (self, step) {
        case (.object(let members), .member(let name)):
            return .object(
                members.compactMap { key, old in
                    let new = key == name ? old.replacing(below, with: value) : old
                    return new.map { (key, $0) }
                })
        case (.array(let elements), .element(let index)):
            return .array(
                elements.enumerated().compactMap {
                    $0.offset == index ? $0.element.replacing(below, with: value) : $0.element
                })
        default: return self
        }
    }

    /// The document without its null members.
    var withoutNulls: JSONTree {
        switch self {
        case .object(let members):
            .object(
                members.compactMap { key, value in
                    if case .scalar("null") = value { nil } else { (key, value.withoutNulls) }
                })
        case .array(let elements): .array(elements.map(\.withoutNulls))
        case .scalar: self
        }
    }

    /// The document with a further member in every object but those whose keys are names of fields.
    func addingMember(_ name: String) -> JSONTree {
        switch self {
        case .object(let members):
            .object(
                [(name, .scalar("1"))]
                    + members.map { key, value in
                        (key, ["fields", "af", "aft"].contains(key) ? value : value.addingMember(name))
                    })
        case .array(let elements): .array(elements.map { $0.addingMember(name) })
        case .scalar: self
        }
    }
}

extension [JSONTree.Step] {
    /// `operations[0].zone`, as in the errors of decoders.
    var text: String {
        reduce("") { path, step in
            switch step {
            case .member(let key): path.isEmpty ? key : "\(path).\(key)"
            case .element(let index): "\(path)[\(index)]"
            }
        }
    }
}
