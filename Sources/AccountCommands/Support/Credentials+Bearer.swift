package import AccountKit
import AccountSupport

extension Credentials {
    /// Checks that the access token works without a proof for each request (RFC 9449).
    ///
    /// - Throws: `misconfigured` with the command that works, in the words of `hint`.
    package func checkIsBearer(_ hint: CommandHint) throws(AccountError) {
        guard tokenType.lowercased() != "bearer" else { return }
        guard requiresProof else {
            throw AccountError(
                .misconfigured, "the token is of the type \(tokenType.shown), which this command cannot pass on")
        }
        throw AccountError(
            .misconfigured,
            "the tokens of this session are bound to a key (DPoP): each request needs its own proof, which this command "
                + "cannot pass on",
            hint: "print a proof with `\(hint.command("token", "--dpop-proof GET URL"))`, or sign in with "
                + "`\(hint.command("login", "--no-dpop"))`")
    }
}
