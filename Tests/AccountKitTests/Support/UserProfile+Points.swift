import AccountKit

extension UserProfile {
    /// An app's own field, which tests use as a counter.
    var points: Int64? {
        get { if case .integer(let value)? = self["points"] { value } else { nil } }
        set { self["points"] = newValue.map { .integer($0) } }
    }
}
