/// The requested byte range of a file (RFC 9110 §14).
enum ByteRange: Hashable {
    case whole
    case part(offset: Int64, length: Int64)
    case unsatisfiable

    /// - Parameters:
    ///   - range: the header `Range`; nil without it. An invalid header, or one with several ranges, selects the whole
    ///     file.
    ///   - ifRange: the header `If-Range`; nil without it. Unless it is the strong entity tag of the file, the whole
    ///     file is selected.
    static func requested(_ range: String?, ifRange: String?, tag: String, size: Int64) -> ByteRange {
        guard let range, let set = range.trimmingSpaces.dropping(prefix: "bytes=") else { return .whole }
        if let ifRange, ifRange.trimmingSpaces != tag { return .whole }
        let parts = set.split(separator: "-", omittingEmptySubsequences: false).map { String($0).trimmingSpaces }
        guard !set.contains(","), parts.count == 2 else { return .whole }
        let (first, last) = (number(parts[0]), number(parts[1]))
        switch (parts[0].isEmpty, parts[1].isEmpty) {
        case (true, true): return .whole
        case (true, false):
            guard let suffix = last else { return .whole }
            guard suffix > 0, size > 0 else { return .unsatisfiable }
            let length = min(suffix, size)
            return .part(offset: size - length, length: length)
        case (false, true):
            guard let first else { return .whole }
            return first < size ? .part(offset: first, length: size - first) : .unsatisfiable
        case (false, false):
            guard let first, let last, first <= last else { return .whole }
            return first < size ? .part(offset: first, length: min(last, size - 1) - first + 1) : .unsatisfiable
        }
    }

    /// Parses a number of digits only; nil for any other text. A number that overflows is larger than any file.
    private static func number(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(text) ?? .max
    }
}

/// The comparison of entity tags (RFC 9110 §8.8.3).
enum EntityTag {
    /// Whether a list of tags, or `*`, matches the tag. `If-None-Match` uses weak comparison.
    static func matches(_ tag: String, anyOf list: String) -> Bool {
        list.split(separator: ",").contains { item in
            let item = String(item).trimmingSpaces
            return item == "*" || item == tag || item.dropping(prefix: "W/") == tag
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }

    fileprivate func dropping(prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
