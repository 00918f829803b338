import AccountKit

struct Finding {
    var problem: String

    /// Follows the problem in the same line, so it begins with a colon.
    var advice = ""

    /// The file or folder that others can change. Errors that name it tell of the same fault.
    var insecurePath: String?

    /// The error that a finding is about.
    var errorCode: AccountError.Code?

    /// Without losing data; `nil` if a person has to do it.
    var repair: (() async throws -> Void)?

    /// Worth knowing, but not a problem.
    var isNote = false
    var isFixed = false

    init(
        problem: String, advice: String = "", insecurePath: String? = nil,
        repair: (() async throws -> Void)? = nil, isNote: Bool = false
    ) {
        self.problem = problem
        self.advice = advice
        self.insecurePath = insecurePath
        self.repair = repair
        self.isNote = isNote
    }

    /// - Parameter session: The session that the error is about; `nil` if it concerns more than one.
    init(_ error: any Error, in session: SessionName? = nil) {
        self.init(problem: (session.map { "session \($0): " } ?? "") + "\(error)")
        errorCode = (error as? AccountError)?.code
    }

    /// Whether this finding is only a consequence of another one.
    func follows(from others: [Finding]) -> Bool {
        errorCode == .insecureContainer
            && others.contains { other in
                !other.isFixed && other.insecurePath.map { problem.contains($0) } == true
            }
    }

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
