package import AccountKit

package struct Finding {
    package var problem: String

    /// The text that follows the problem on the same line, so it begins with a colon.
    package var advice = ""

    /// The file or folder that other users can change. Errors about the same path have the same cause.
    var insecurePath: String?

    var errorCode: AccountError.Code?

    /// A program that is installed, but does not use the sessions.
    package var missingProgram: String?

    /// Repairs the problem without losing data; `nil` if only the user can repair it.
    var repair: (() async throws -> Void)?

    package var isNote = false
    var isFixed = false

    package init(
        problem: String, advice: String = "", insecurePath: String? = nil,
        repair: (() async throws -> Void)? = nil, isNote: Bool = false, missingProgram: String? = nil
    ) {
        self.problem = problem
        self.advice = advice
        self.insecurePath = insecurePath
        self.repair = repair
        self.isNote = isNote
        self.missingProgram = missingProgram
    }

    /// - Parameter session: The session that the error is about; `nil` if it concerns more than one.
    package init(_ error: any Error, in session: SessionName? = nil) {
        self.init(problem: (session.map { "session \($0): " } ?? "") + "\(error.userText)")
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
            advice += " (the repair failed: \(error.userText))"
        }
    }
}
