struct Finding {
    var problem: String

    /// Follows the problem in the same line, so it begins with a colon.
    var advice = ""

    /// Without losing data; `nil` if a person has to do it.
    var repair: (() async throws -> Void)?

    /// Worth knowing, but not a problem.
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
