/// Something that is not as it should be.
struct Finding {
    var problem: String

    /// What can be done, to go behind the problem.
    var advice = ""

    /// Repairs it without losing data; `nil` if that is up to a person.
    var repair: (() async throws -> Void)?

    /// Whether it is only worth knowing.
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
