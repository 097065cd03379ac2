import NephosWire
import Testing

/// Compares a message with its recorded bytes, in a small and in a full form, and with its decoder's recorded errors.
///
/// The malformed bodies are the full form with one value at a time removed, null, or of a wrong type or value. A line of
/// `malformed` has the paths of values, a change of each, and the decoder's error at that path ("at PATH: …" elsewhere)
/// or, after "reads as", the value that the decoder assumes. Changes without a line are accepted as they are.
///
/// Recorded bytes change only with the wire protocol, as clients of other versions read them.
///
/// - Parameter decoded: the value that the full form's bytes decode to, if it differs.
func expectRecorded<Message: WireMessage & Equatable>(
    small: Message, _ smallBytes: String, full: Message, _ fullBytes: String, decoded: Message? = nil,
    malformed: String, at location: SourceLocation = #_sourceLocation
) throws {
    #expect(text(small.encoded()) == smallBytes, sourceLocation: location)
    #expect(text(full.encoded()) == fullBytes, sourceLocation: location)
    #expect(try Message(decoding: bytes(smallBytes)) == small, sourceLocation: location)
    #expect(try Message(decoding: bytes(fullBytes)) == decoded ?? full, sourceLocation: location)
    let tree = JSONTree(fullBytes)
    let extended = tree.addingMember("ofALaterVersion").text
    #expect(try Message(decoding: bytes(extended)) == decoded ?? full, sourceLocation: location)
    let found = answers(of: Message.self, toChangesOf: tree)
    let recorded = malformed.split(separator: "\n").map(String.init)
    #expect(found.filter { !recorded.contains($0) } == [], "not recorded", sourceLocation: location)
    #expect(recorded.filter { !found.contains($0) } == [], "recorded otherwise", sourceLocation: location)
}

/// The lines of `malformed` in `expectRecorded`.
private func answers<Message: WireMessage>(of type: Message.Type, toChangesOf tree: JSONTree) -> [String] {
    var answers: [(text: String, paths: [String])] = []
    func add(_ text: String, _ path: String) {
        if let index = answers.firstIndex(where: { $0.text == text }) {
            answers[index].paths.append(path)
        } else {
            answers.append((text, [path]))
        }
    }
    for body in ["[]", "{}"] {
        if let error = error(Message.self, body) { add(error.relative(to: ""), body + ":") }
    }
    for path in tree.paths {
        var changesOfAnswers: [(changes: [String], answer: String)] = []
        for (change, value) in changes(of: path, in: tree) {
            guard let changed = tree.replacing(path, with: value),
                let answer = answer(of: Message.self, to: changed, at: path)
            else { continue }
            if let last = changesOfAnswers.last, last.answer == answer {
                changesOfAnswers[changesOfAnswers.count - 1].changes.append(change)
            } else {
                changesOfAnswers.append(([change], answer))
            }
        }
        for (changes, answer) in changesOfAnswers {
            add("\(changes.joined(separator: " or ")): \(answer)", path.text)
        }
    }
    return answers.flatMap { text, paths in
        var lines: [String] = []
        for path in paths {
            if let last = lines.last, last.count + path.count < 96 - text.count {
                lines[lines.count - 1] = "\(last), \(path)"
            } else {
                lines.append(path)
            }
        }
        return lines.map { "\($0) \(text)" }
    }
}

private func changes(of path: [JSONTree.Step], in tree: JSONTree) -> [(name: String, value: JSONTree?)] {
    var changes: [(String, JSONTree?)] = []
    if case .member? = path.last { changes.append(("missing", nil)) }
    let others: [String] =
        switch tree[path] {
        case .scalar(let text) where text.hasPrefix("\""): ["null", "{}", "\"?\""]
        case .scalar("true"), .scalar("false"), nil: ["null", "{}"]
        case .scalar: ["null", "{}", "-1"]
        case .object, .array: ["null", "5"]
        }
    return changes + others.map { ($0, JSONTree($0)) }
}

/// The decoder's error, or the assumed value; nil if the value is read as it is.
private func answer<Message: WireMessage>(
    of type: Message.Type, to changed: JSONTree, at path: [JSONTree.Step]
) -> String? {
    do throws(WireError) {
        let message = try Message(decoding: bytes(changed.text))
        let written = JSONTree(text(message.encoded()))
        guard written.text != changed.withoutNulls.text else { return nil }
        guard let value = written[path] else { return "reads as nothing" }
        return value.text == changed[path]?.text ? nil : "reads as \(value.text)"
    } catch {
        return error.relative(to: path.text)
    }
}

extension WireError {
    fileprivate func relative(to path: String) -> String { self.path == path ? reason : "at \(self.path): \(reason)" }
}
