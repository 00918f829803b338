struct Finding {
    var problem: String

    /// Goes behind the problem, so it begins with a colon or a space.
    var advice = ""

    /// Repairs it without losing data; `nil` if that is up to a person.
    var repair: (() async throws -> Void)?

    /// Worth knowing, but no problem.
    var isNote = false
    var isFixed = false

    mutating func repairIfPossible() async {
        guard let repair else { return }
        do {
            try await repair()
            isFixed = true
        } catch {
            advice += " (it could not be repaired: \(error))"
        }
    }
}
