package import AccountSupport

extension JSONValue {
    /// The value as a profile value; `nil` for null. Nulls inside arrays and objects are left out.
    package var profileValue: ProfileValue? {
        switch self {
        case .null: nil
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .string(let value): .string(value)
        case .array(let values): .array(values.compactMap(\.profileValue))
        case .object(let members): .dictionary(members.compactMapValues(\.profileValue))
        }
    }
}
