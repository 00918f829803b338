import AccountKit
import AccountSupport

extension OAuthAuthority {
    /// Throws an error if an assertion names its audience, and this service is not part of it (RFC 7523, section 3, number
    /// 3): another server must not receive an assertion that this workload uses elsewhere.
    ///
    /// - Parameter audience: The audience that the app or the user expects instead of the issuer.
    func checkAudience(of assertion: Secret, expecting audience: String?) async throws(AuthorityError) {
        guard let audiences = JSONWebToken(assertion)?.audiences, let first = audiences.first else { return }
        let isExpected = audiences.contains {
            $0 == audience || issuerIdentifier.isSame(as: $0) || issuerIdentifier.isNamed(by: $0)
        }
        if isExpected { return }
        let endpoint = try await documents.endpoint(.token)?.url
        if let endpoint, audiences.contains(where: { (try? ServiceURL($0)) == endpoint }) { return }
        let shown = ServerText(secrets: [assertion]).shown(first)
        throw .misconfigured(
            "the assertion is for \(shown ?? "another audience") (aud), and not for \(audience ?? issuer), so it is not sent: "
                + "request an assertion for this service, or name the audience that the service expects (on a command line, "
                + "with --client-assertion-audience)")
    }
}
