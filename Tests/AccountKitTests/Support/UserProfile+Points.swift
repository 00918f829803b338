import AccountKit

extension UserProfile {
    /// A field of an app's own, as tests count with one.
    var points: Int64? {
        get { if case .integer(let value)? = self["points"] { value } else { nil } }
        set { self["points"] = newValue.map { .integer($0) } }
    }
}
