import AccountSupport

extension UserProfile {
    /// Creates a profile from a value of the app's own type. The coding keys are the names of the fields. Values that
    /// are `nil` are left out.
    ///
    /// A `Date` becomes a ``ProfileValue/date(_:)``, a `Data` a ``ProfileValue/data(_:)``, and a `URL` a string. A
    /// `Decimal` becomes a number.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/invalidArgument`` if `value` does not encode as a dictionary, or
    ///   contains `nil` in an array or a number that is not finite.
    public init(encoding value: some Encodable) throws(AccountError) {
        let fields: [String: ProfileValue]
        do {
            let text = try ProfileCoding.encoder().encode(value)
            fields = try ProfileCoding.decoder().decode([String: ProfileValue].self, from: text)
        } catch {
            throw AccountError(.invalidArgument, "the profile cannot contain this value", cause: error)
        }
        guard !fields.values.contains(where: \.hasNullInArray) else {
            throw AccountError(.invalidArgument, "an array of a profile cannot contain nil")
        }
        self.init(fields)
    }

    /// Returns the fields as a value of the app's own type. Fields that the type does not have are ignored.
    ///
    /// The fields are decoded as in JSON. A `URL` decodes from a string, a `Decimal` from a number, `Data` from Base64,
    /// and a `Date` from ISO 8601 text or from the seconds since 1970, as services send them. A missing field is *not*
    /// an error if its property is optional. For properties that are not optional, see ``decoded(default:)``.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/damaged`` if a field has another type, or if it is missing and its
    ///   property is not optional. The error names the field.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws(AccountError) -> Value {
        let encoder = ProfileCoding.encoder()
        encoder.nonConformingFloatEncodingStrategy = ProfileCoding.nonConformingFloats
        do {
            return try ProfileCoding.decoder().decode(type, from: encoder.encode(fields))
        } catch {
            throw AccountError(.damaged, "a field of the stored profile does not have the expected form", cause: error)
        }
    }

    /// Returns the fields as a value of the app's own type. For missing fields, the result has the values of `value`.
    ///
    /// - Throws: ``AccountError/Code-swift.struct/damaged`` if a field has another type, or the errors of
    ///   ``init(encoding:)`` for `value`.
    public func decoded<Value: Codable>(default value: Value) throws(AccountError) -> Value {
        var profile = try UserProfile(encoding: value)
        profile.merge(self)
        return try profile.decoded()
    }
}

extension ProfileValue {
    /// Whether an array in the value contains `null`. An archive would not preserve the positions of the other
    /// elements.
    fileprivate var hasNullInArray: Bool {
        switch self {
        case .array(let values): values.contains { $0 == .null || $0.hasNullInArray }
        case .dictionary(let fields): fields.values.contains(where: \.hasNullInArray)
        default: false
        }
    }
}

/// Encodes an app's own types as JSON. Dates and data, which JSON cannot represent, become objects with a single marked
/// member.
enum ProfileCoding {
    private enum Mark: String, CodingKey {
        case date = "\u{0}date"
        case data = "\u{0}data"
    }

    /// The strings for infinities and NaN, which a profile can contain but JSON cannot represent.
    static var nonConformingFloats: JSONEncoder.NonConformingFloatEncodingStrategy {
        .convertToString(positiveInfinity: infinity, negativeInfinity: negativeInfinity, nan: notANumber)
    }

    private static let (infinity, negativeInfinity, notANumber) = ("\u{0}inf", "\u{0}-inf", "\u{0}nan")

    static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.container(keyedBy: Mark.self)
            try container.encode(date.timeIntervalSinceReferenceDate, forKey: .date)
        }
        encoder.dataEncodingStrategy = .custom { data, encoder in
            var container = encoder.container(keyedBy: Mark.self)
            try container.encode(data.base64EncodedString(), forKey: .data)
        }
        return encoder
    }

    static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom(date)
        decoder.dataDecodingStrategy = .custom(data)
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: infinity, negativeInfinity: negativeInfinity, nan: notANumber)
        return decoder
    }

    private static func date(from decoder: any Decoder) throws -> Date {
        if let container = try? decoder.container(keyedBy: Mark.self),
            let seconds = try? container.decode(Double.self, forKey: .date)
        {
            return Date(timeIntervalSinceReferenceDate: seconds)
        }
        let container = try decoder.singleValueContainer()
        if let seconds = try? container.decode(Double.self) { return Date(timeIntervalSince1970: seconds) }
        let text = try container.decode(String.self)
        let styles = [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)]
        for style in styles { if let date = try? style.parse(text) { return date } }
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "the text is not an ISO 8601 date")
    }

    private static func data(from decoder: any Decoder) throws -> Data {
        if let container = try? decoder.container(keyedBy: Mark.self),
            let text = try? container.decode(String.self, forKey: .data), let data = Data(base64Encoded: text)
        {
            return data
        }
        let container = try decoder.singleValueContainer()
        guard let data = Data(base64Encoded: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "the text is not Base64")
        }
        return data
    }
}
