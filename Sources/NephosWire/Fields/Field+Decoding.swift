extension Field {
    /// Decodes a field dictionary, `{"value": …, "type": …, "isEncrypted": …}`. The field is cleared by a value of
    /// `null`, by `null` instead of the dictionary, and by a type without a value (CloudKit Web Services, Record Field
    /// Dictionary).
    init(json: JSONValue) throws(WireError) {
        guard !json.isNull else {
            self.init(nil)
            return
        }
        var value: JSONValue?
        var hasValue = false
        var isTypeAlone = true
        var type: JSONValue?
        var encrypted: JSONValue?
        var seconds: JSONValue?
        for (key, member) in try json.members("a dictionary with the key \"value\"") {
            switch key {
            case "value": (value, hasValue) = (member.nonNull, true)
            case "type": type = member.nonNull
            case "isEncrypted": encrypted = member.nonNull
            case "nephosSeconds": seconds = member.nonNull
            default: isTypeAlone = false
            }
        }
        isTypeAlone = isTypeAlone && type != nil
        // A misspelt key must not clear the field. A type without a value does clear it (pyicloud).
        guard hasValue || isTypeAlone else { throw json.missing("value", "a value, or null to clear the field") }
        let isEncrypted = try encrypted?.bool() ?? false
        guard let type else {
            // Without a type, the value does not identify a date, and only dates have `nephosSeconds`. So
            // `nephosSeconds` is ignored.
            let inferred = try value.map(FieldValue.init(inferring:))
            self.init(inferred, hasDeclaredType: inferred == nil, isEncrypted: isEncrypted)
            return
        }
        try self.init(value, declaredAs: type, isEncrypted: isEncrypted, seconds: seconds)
    }

    /// - Parameter seconds: the dates' exact times.
    private init(
        _ value: JSONValue?, declaredAs type: JSONValue, isEncrypted: Bool, seconds: JSONValue?
    ) throws(WireError) {
        let declared = try DeclaredType(json: type)
        if declared.isEncrypted, let value, let sealed = SealedFieldValue(json: value, declared) {
            self.init(.sealed(sealed), isEncrypted: true)
            return
        }
        do throws(WireError) {
            self.init(
                try value.map { (value) throws(WireError) in
                    let decoded = try FieldValue(json: value, declared: declared)
                    guard let seconds else {
                        try decoded.checkDates(asIn: value)
                        return decoded
                    }
                    return try decoded.refined(by: seconds)
                },
                hasDeclaredType: try declared.tellsEverything(about: value),
                isEncrypted: isEncrypted || declared.isEncrypted)
        } catch {
            throw WireError(
                path: error.path, reason: "declared \(WirePath.shortened(type.text.string)): \(error.reason)")
        }
    }
}

extension SealedFieldValue {
    /// Decodes a sealed value. Returns nil if the value is not base64. Such a value is in the clear, and the service
    /// refuses it.
    fileprivate init?(json: JSONValue, _ declared: DeclaredType) {
        guard json.tag == JSONValue.Tag.string, let bytes = Base64.decodeLines(json.text.bytes) else { return nil }
        self.init(type: FieldType(declared.scalar ?? .unknown, isList: declared.isList), bytes: bytes)
    }
}

extension DeclaredType {
    /// Returns whether the declared type determines the value's type completely. `LIST` lacks the element type, so it
    /// does so only if the list is empty or every element declares its own type.
    fileprivate func tellsEverything(about value: JSONValue?) throws(WireError) -> Bool {
        guard isList, scalar == nil, let value, value.isArray else { return true }
        for element in JSONElements(of: value) where try element.unwrapped().declared?.scalar == nil { return false }
        return true
    }
}

extension FieldValue {
    /// Decodes the value of a field whose type the sender declared.
    init(json: JSONValue, declared: DeclaredType) throws(WireError) {
        guard declared.isList else {
            guard let scalar = declared.scalar else { throw json.mismatch("a value") }
            self = try Self.scalar(scalar, json)
            return
        }
        guard let scalar = declared.scalar else {
            self = try Self.inferredList(json)
            return
        }
        self = .list(
            of: scalar,
            try json.elements("an array") { (element) throws(WireError) in
                let (value, inner) = try element.unwrapped()
                if let inner, inner.isList || inner.scalar != scalar {
                    throw element.mismatch("an element of type \(FieldType(scalar).wireName)")
                }
                return try Self.scalar(scalar, value)
            })
    }

    /// Adds the precision below a millisecond to a date or a list of dates: `json` is a number for a date, and a list
    /// of numbers for a list of dates, with null for a date of whole milliseconds. Other values stay unchanged.
    fileprivate func refined(by json: JSONValue) throws(WireError) -> FieldValue {
        switch self {
        case .timestamp(let time):
            return .timestamp(Timestamp(milliseconds: time.milliseconds, seconds: try json.double()))
        case .list(.timestamp, var elements):
            var index = 0
            for seconds in try json.elements("an array", { (json) throws(WireError) in try json.nonNull?.double() }) {
                guard index < elements.count, case .timestamp(let time) = elements[index] else { break }
                elements[index] = .timestamp(Timestamp(milliseconds: time.milliseconds, seconds: seconds))
                index += 1
            }
            return .list(of: .timestamp, elements)
        default: return self
        }
    }

    /// Throws for dates outside the range of `Date`, which would otherwise be saved as other dates.
    fileprivate func checkDates(asIn json: JSONValue) throws(WireError) {
        switch self {
        case .timestamp(let time): try json.checkMilliseconds(of: time)
        case .list(.timestamp, let elements):
            var index = 0
            for element in JSONElements(of: json) {
                guard index < elements.count, case .timestamp(let time) = elements[index] else { break }
                try element.unwrapped().value.checkMilliseconds(of: time)
                index += 1
            }
        default: break
        }
    }

    /// Decodes a value without a declared type: infers the type from the JSON's form, because CloudKit Web Services
    /// lets a sender omit the type.
    init(inferring json: JSONValue) throws(WireError) {
        self = json.isArray ? try Self.inferredList(json) : try Self.inferredScalar(json)
    }

    private static func scalar(_ scalar: FieldType.Scalar, _ json: JSONValue) throws(WireError) -> FieldValue {
        switch scalar {
        case .string: return .string(try json.content())
        case .int64:
            switch json.tag {
            case JSONValue.Tag.true: return .int64(1)
            case JSONValue.Tag.false: return .int64(0)
            default: return .int64(try json.int64())
            }
        case .double: return .double(try json.double())
        case .bytes:
            guard json.tag == JSONValue.Tag.string else { throw json.mismatch("a base64 string") }
            guard let bytes = Base64.decodeLines(json.text.bytes) else { throw json.mismatch("a base64 string") }
            return .bytes(bytes)
        case .timestamp: return .timestamp(Timestamp(milliseconds: try json.milliseconds()))
        case .location: return .location(try LocationValue(json: json))
        case .reference: return .reference(try ReferenceValue(json: json))
        case .asset: return .asset(try AssetValue(json: json))
        case .unknown: return try inferredScalar(json)
        }
    }

    private static func inferredScalar(_ json: JSONValue) throws(WireError) -> FieldValue {
        switch json.tag {
        case JSONValue.Tag.string: return .string(json.text.string)
        case JSONValue.Tag.true: return .int64(1)
        case JSONValue.Tag.false: return .int64(0)
        case JSONValue.Tag.int64: return .int64(Int64(bitPattern: json.numberBits))
        case JSONValue.Tag.uint64: throw json.mismatch("an integer within the 64 bits of INT64, or the type DOUBLE")
        case JSONValue.Tag.double:
            let value = Double(bitPattern: json.numberBits)
            // In this range senders write whole numbers without an exponent, so the sender intended an integer.
            if value.magnitude >= 0x1p63, value.magnitude < 1e21 {
                throw json.mismatch("an integer within the 64 bits of INT64, or the type DOUBLE")
            }
            return .double(value)
        case JSONValue.Tag.object: break
        default: throw json.mismatch("a string, number, boolean, object or array")
        }
        for (key, _) in JSONMembers(of: json) {
            switch key {
            case "latitude", "longitude": return .location(try LocationValue(json: json))
            case "recordName": return .reference(try ReferenceValue(json: json))
            case "fileChecksum", "receipt": return .asset(try AssetValue(json: json))
            default: break
            }
        }
        throw json.failure("expected a location (latitude), a reference (recordName) or an asset (fileChecksum)")
    }

    private static func inferredList(_ json: JSONValue) throws(WireError) -> FieldValue {
        guard json.isArray else { throw json.mismatch("an array") }
        var values: [FieldValue] = []
        var scalar = FieldType.Scalar.unknown
        for element in JSONElements(of: json) {
            let (bare, declared) = try element.unwrapped()
            if bare.isArray || declared?.isList == true { throw element.failure("a list cannot hold a list") }
            let value: FieldValue
            if let declared, let declaredScalar = declared.scalar {
                value = try Self.scalar(declaredScalar, bare)
            } else {
                value = try inferredScalar(bare)
            }
            let found = value.type.scalar
            switch (scalar, found) {
            case (.unknown, _): scalar = found
            // A list of integers and other numbers, such as [1, 2.5], is a list of DOUBLE.
            case (.int64, .double): scalar = .double
            case (.double, .int64): break
            default:
                guard scalar == found else {
                    throw element.mismatch("an element of type \(FieldType(scalar).wireName) as before it")
                }
            }
            values.append(value)
        }
        if scalar == .double {
            for case (let index, .int64(let integer)) in values.enumerated() {
                guard let double = Double(exactly: integer) else {
                    throw json.failure("a list of DOUBLE cannot hold the integer \(integer) exactly")
                }
                values[index] = .double(double)
            }
        }
        return .list(of: scalar, values)
    }
}

extension JSONValue {
    /// Decodes a date as whole milliseconds since 1970.
    func milliseconds() throws(WireError) -> Int64 { try int64("a date in whole milliseconds") }

    /// Throws if a `Date` cannot represent the milliseconds exactly.
    /// - Parameter time: the moment that was parsed from the milliseconds.
    func checkMilliseconds(of time: Timestamp) throws(WireError) {
        if time.milliseconds.magnitude < Timestamp.exactMilliseconds { return }
        guard try milliseconds() == time.milliseconds else {
            throw mismatch("a date that a double can say, as all are within \(Timestamp.exactMilliseconds) ms of 1970")
        }
    }

    /// Returns the value of a list's element, which is bare or wrapped as `{"value": …, "type": …}`, with its declared
    /// type; the type is nil for a bare element.
    fileprivate func unwrapped() throws(WireError) -> (value: JSONValue, declared: DeclaredType?) {
        guard isObject else { return (self, nil) }
        var value: JSONValue?
        var type: JSONValue?
        for (key, member) in JSONMembers(of: self) {
            switch key {
            case "value": value = member
            case "type": type = member.nonNull
            default: break
            }
        }
        guard let value else { return (self, nil) }
        return (value, try type.map(DeclaredType.init(json:)))
    }
}
