import AccountKit
import AccountSupport
import Logging
import Synchronization

/// The service of an API, for an authority that knows only the URL of the API; see
/// ``OAuthAuthority/init(api:issuer:client:scopes:additionalScopes:options:timeout:tokenRequestTimeout:clock:logger:)``.
struct APIServices: Sendable {
    /// The URL of the API.
    let url: ServiceURL

    /// The issuer that the app or the user chose; `nil` if the API names one.
    private(set) var issuer: String?

    /// Whether the app or the user named the ``issuer``, and did not only choose among those that the API names.
    let isIssuerNamed: Bool

    private(set) var settings: OAuthSettings
    private(set) var cache = Cache()

    init(url text: String, issuer: String?, _ settings: OAuthSettings) throws(AccountError) {
        do throws(ServiceURL.Flaw) {
            url = try ServiceURL(text)
        } catch {
            let isNameOnly = error == .noScheme && (try? ServiceURL("https://" + text)) != nil
            throw AccountError(
                .invalidArgument, "the URL of the API\(ServiceURL.shown(text)) \(error.text)",
                hint: isNameOnly ? "did you mean https://\(text)?" : nil)
        }
        if let issuer { _ = try Issuer(issuer) }
        try settings.check()
        self.issuer = issuer
        isIssuerNamed = issuer != nil
        self.settings = settings
    }

    /// Returns the same API with one of the issuers that it names.
    func choosing(issuer: String?) -> APIServices {
        var result = self
        result.issuer = issuer
        result.cache = Cache()
        result.cache.resource = cache.resource
        return result
    }

    /// Returns the same API with other settings of a sign-in.
    func changing(_ change: (inout OAuthSettings) -> Void) -> APIServices {
        var result = choosing(issuer: issuer)
        change(&result.settings)
        return result
    }

    /// What this authority has learned, for all copies of the value.
    final class Cache: Sendable {
        private struct State {
            var resource: ProtectedResource?
            var signIn: OAuthService?
            var ofAccount: (account: Account, service: OAuthService)?
            var requirement: AccessRequirement?
        }

        private let state = Mutex(State())

        var resource: ProtectedResource? {
            get { state.withLock(\.resource) }
            set { state.withLock { $0.resource = newValue } }
        }

        var signIn: OAuthService? {
            get { state.withLock(\.signIn) }
            set { state.withLock { $0.signIn = newValue } }
        }

        var requirement: AccessRequirement? {
            get { state.withLock(\.requirement) }
            set { state.withLock { $0.requirement = newValue } }
        }

        var current: OAuthService? { state.withLock { $0.signIn ?? $0.ofAccount?.service } }

        /// The documents of the service are read once for each client.
        func service(
            of account: Account, _ make: () throws(AccountError) -> OAuthService
        ) throws(AccountError) -> OAuthService {
            let known = state.withLock(\.ofAccount)
            if let known, known.account.issuer == account.issuer,
                known.account.credentials.clientID == account.credentials.clientID
            {
                return known.service
            }
            let service = try make()
            let kept = Account(id: account.id, issuer: account.issuer, credentials: account.credentials)
            state.withLock { $0.ofAccount = (kept, service) }
            return service
        }
    }
}
