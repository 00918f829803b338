import AccountKit
import AccountSupport

/// The discovery of the service of a sign-in.
extension APIServices {
    func protectedResource() async throws(AuthorityError) -> ProtectedResource {
        if let known = cache.resource { return known }
        let transport = HTTPTransport.shared.reaching(hostsNamedBy: url)
        let (timeout, clock, logger) = (settings.timeout, settings.clock, settings.logger)
        let discovery = ResourceDiscovery(url: url) { request throws(AuthorityError) in
            try await transport.send(request, timeout: timeout, clock: clock, logger: logger)
        }
        var resource = try await discovery.resource()
        if !resource.namesServers {
            guard issuer == nil else {
                if let failure = resource.failure { throw failure }
                cache.resource = resource
                return resource
            }
            resource = try await findIssuer(resource)
        }
        cache.resource = resource
        return resource
    }

    /// Finds the issuer of an API that names none: its URL, or else its origin (Model Context Protocol, revision 2025-03-26,
    /// section "Authorization Base URL").
    ///
    /// The revision also defines default endpoints for servers without a discovery document. AccountKit does not use
    /// them: without a document, it knows neither that a service checks PKCE nor where the tokens of a session are renewed.
    private func findIssuer(_ resource: ProtectedResource) async throws(AuthorityError) -> ProtectedResource {
        var failures: [AuthorityError] = []
        for url in ["", "/"].contains(url.path) && url.query == nil ? [url] : [url, url.origin] {
            var named = resource
            named.authorizationServers = ["\(url)"]
            do throws(AuthorityError) {
                let service = try signInService(for: named)
                try await service.connection.documents.load()
                cache.signIn = service
                return named
            } catch {
                if error.isCancellation { throw error }
                failures.append(error)
            }
        }
        // A document may be there after a temporary failure.
        guard failures.allSatisfy(\.isAbsence) else { throw failures.first { !$0.isAbsence } ?? failures[0] }
        if let failure = resource.failure { throw failure }
        let texts = (failures.map(\.answerText) + resource.answers).joined(separator: "; ")
        let isIntercepted = failures.allSatisfy { if case .intercepted = $0 { true } else { false } }
        throw isIntercepted ? .intercepted(texts) : .misconfigured(texts)
    }

    /// Returns the service of a sign-in. The first call asks the API.
    func signInService() async throws(AuthorityError) -> OAuthService {
        if let known = cache.signIn { return known }
        let resource = try await protectedResource()
        if let known = cache.signIn { return known }
        let service = try signInService(for: resource)
        cache.signIn = service
        return service
    }

    private func signInService(for resource: ProtectedResource) throws(AuthorityError) -> OAuthService {
        do throws(AccountError) {
            return try service(for: resource)
        } catch {
            throw .misconfigured(error.userText)
        }
    }

    private func service(for resource: ProtectedResource) throws(AccountError) -> OAuthService {
        let chosen = try chosenServer(of: resource)
        var named = try Issuer(chosen)
        // The user may type a URL with or without the slash. The path of an issuer from metadata has one spelling.
        named.form = knownForm(of: named) ?? (resource.namesServers ? .verbatim(chosen) : .exact)
        var settings = settings
        if let identifier = resource.identifier, !settings.options.resources.contains(identifier) {
            settings.options.resources.insert(identifier, at: 0)
        }
        if settings.scopes == nil, let count = resource.scopes?.count, count > ProtectedResource.maximumScopeCount {
            throw AccountError(
                .misconfigured, "\(url) names more than \(ProtectedResource.maximumScopeCount) scopes",
                hint: "choose the scopes yourself (on a command line, with --no-default-scopes and --scope)")
        }
        var api = APIOrigin(
            url: url, namer: isIssuerNamed ? nil : url, scopes: resource.scopes, isIssuerGiven: isIssuerNamed)
        let known = knownService(at: named)
        if resource.scopes == nil, known == nil, settings.scopes == nil {
            api.tentativeScopes = Set(["openid", "profile", "email"]).subtracting(settings.additionalScopes)
        }
        return try OAuthService(named, known: known, api: api, settings)
    }

    private func chosenServer(of resource: ProtectedResource) throws(AccountError) -> String {
        let servers = resource.authorizationServers
        if let issuer {
            let given = try Issuer(issuer)
            if let named = servers.first(where: { given.isSame(as: $0) || (try? Issuer($0))?.url == given.url }) {
                return named
            }
            // The user may be the only one who names the service.
            guard resource.namesServers else { return issuer }
            throw AccountError(
                .misconfigured, "\(url) does not accept tokens of \(issuer)",
                hint: "choose one of its authorization servers: \(servers.joined(separator: ", "))")
        }
        guard servers.count == 1 else {
            throw AccountError(
                .misconfigured,
                "\(url) names \(servers.count) authorization servers: \(servers.joined(separator: ", "))",
                hint: "choose one (on a command line, with --issuer)")
        }
        return servers[0]
    }

    /// Returns the entry of an issuer. Another issuer at the same host may have other endpoints.
    func knownService(at issuer: Issuer) -> KnownService? {
        KnownService.all.first { $0.issuer == issuer.identifier && $0.hasDiscovery }
    }

    /// Returns how a known service spells its issuers, for each tenant at its host; `nil` for other services.
    func knownForm(of issuer: Issuer) -> Issuer.Form? {
        let form = KnownService.at(issuer)?.quirks.issuerForm
        return form == .exact ? nil : form
    }
}
