import AccountKit
import AccountSupport
import HTTPTypes

extension DPoPProof {
    /// Creates the proof for a request of another program.
    ///
    /// - Throws: An `AccountError`: `invalidArgument` if the request cannot contain a token.
    init(
        method: String, url: String, accessToken: Secret, nonce: String?, date: Date
    ) throws(AccountError) {
        let target: ServiceURL
        do throws(ServiceURL.Flaw) {
            target = try ServiceURL(url)
        } catch {
            throw AccountError(.invalidArgument, "the URL of the request \(error.text)")
        }
        guard let method = HTTPRequest.Method(method) else {
            throw AccountError(.invalidArgument, "the method of the request must be a name, such as GET")
        }
        if let nonce, !Self.isNonce(nonce) {
            throw AccountError(.invalidArgument, "the nonce is empty or contains invalid characters")
        }
        self.init(method: method.rawValue, url: target, accessToken: accessToken, nonce: nonce, date: date)
    }

    /// Returns the value of the header field for a request of another program with `credentials`.
    ///
    /// - Throws: `misconfigured` if the tokens are not bound to a key, or if this program cannot sign with that key.
    func signed(with credentials: Credentials) throws(AuthorityError) -> String {
        guard let key = try credentials.key else { throw .misconfigured("the tokens are not bound to a key") }
        return try signed(with: key)
    }
}
