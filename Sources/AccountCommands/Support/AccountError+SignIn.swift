import AccountKit

extension AccountApplication {
    /// The variable of the token that replaces the archive, or `nil` if the environment contains no token.
    static var replacingTokenVariable: String? { environmentToken == nil ? nil : tokenVariable }
}

extension AccountError {
    /// Adds a hint with the command that signs in, unless the hint already contains a command.
    ///
    /// - Parameter variable: The variable of the token that replaces the archive. Signing in then has no effect, so the
    ///   hint is to replace the token.
    package mutating func nameSignIn(command: String, orReplaceTokenIn variable: String?) {
        (message, hint) = (message.inCommandWords, hint?.inCommandWords)
        if hint == Self.signInIfRefusedAgain { hint? += " with `\(command)`" }
        // AccountKit knows the options of `login`, but not the name of the tool.
        message = message.replacing("`login ", with: "`\(command) ")
        if [.damaged, .wrongKeyOrDamaged, .noKey].contains(code) { nameSignInOfArchive(command) }
        if code == .renewalRefused, hint?.contains("`") != true {
            let advice = SignInAdvice(mentionedIn: message)
            hint = "sign in again with `\(command)\(advice.map { " " + $0.options } ?? "")`"
        }
        if code == .notSignedIn, hint?.contains("`") != true, !message.contains("`") {
            hint = variable.map(AccountError.hint(forTokenIn:)) ?? "run `\(command)`"
        }
        guard accessRequirement != nil else { return }
        if let variable {
            hint = AccountError.hint(forTokenIn: variable)
        } else if let hint, let login = hint.firstRange(of: "`login "), let end = hint.lastIndex(of: "`"),
            end >= login.upperBound
        {
            self.hint = "run `\(command) \(hint[login.upperBound..<end])`"
        }
    }
}

extension AccountError {
    /// Adds the command that signs in to an error about an archive that cannot be opened, which ends in its advice.
    private mutating func nameSignInOfArchive(_ command: String) {
        let advice = "sign in again"
        let end = "You are not signed out; "
        if hint == nil, message.hasSuffix(advice), let start = message.firstRange(of: end) {
            hint = String(message[start.upperBound...])
            message = String(message[..<start.lowerBound] + end.dropLast(2))
        }
        if let text = hint, text.hasSuffix(advice) { hint = "\(text) with `\(command)`" }
    }
}
