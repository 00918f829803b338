import HTTPTypes
import Hummingbird
import NIOCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The parameters of an authenticated client's request to an OAuth endpoint.
///
/// Source: RFC 6749, sections 3.1 and 3.2: the body is a form without duplicate parameters, and a parameter without a
/// value counts as omitted.
struct OAuthForm: Sendable {
    let parameters: [String: String]
    private let settings: ServerSettings
    private let hasSecret: Bool
    let clientID: String
    private let audience: String
    private let date: Date

    /// Reads the form and checks the client.
    ///
    /// - Throws: `OAuthError` if the body is not a form, or if the client is unknown.
    init(_ request: Request, context: some RequestContext, server: AuthorizationServer) async throws {
        settings = server.settings
        parameters = try await FormBody.parameters(of: request, context: context)
        let shown = try ClientCredentials(parameters, headers: request.headers)
        audience = settings.personality.discoveredIssuer(for: try Origin(of: request, settings: settings))
        date = server.clock.now
        if let assertions = settings.clientAssertions, shown.id == settings.clientID {
            guard parameters["client_assertion_type"] == ClientAssertions.type,
                let assertion = parameters["client_assertion"]
            else { throw OAuthError(.invalidClient, "client_assertion is missing") }
            try assertions.check(
                assertion, of: settings.clientID,
                for: [audience, try Origin(of: request, settings: settings).url(settings.personality.endpoints.token)],
                at: date)
        } else if let workloads = settings.workloads, parameters["client_assertion_type"] != nil {
            guard parameters["client_assertion_type"] == ClientAssertions.type,
                let assertion = parameters["client_assertion"]
            else { throw OAuthError(.invalidClient, "client_assertion is missing") }
            _ = try workloads.subject(of: assertion, audience: audience, at: date, or: .invalidClient)
        } else if settings.workloads == nil || shown.id != nil {
            try shown.check(settings)
            guard settings.workloads == nil || parameters["grant_type"] != "client_credentials" else {
                throw OAuthError(.invalidClient, "client_assertion is missing")
            }
        }
        try settings.personality.check(parameters)
        hasSecret = shown.secret != nil
        clientID = shown.id ?? settings.clientID
    }

    subscript(name: String) -> String? { parameters[name] }

    /// The value of a required parameter.
    func required(_ name: String) throws -> String {
        guard let value = parameters[name] else { throw OAuthError(.invalidRequest, "\(name) is missing") }
        return value
    }

    /// The requested scope, or `nil` if the client requests none.
    func scope() throws -> Scope? {
        guard let text = parameters["scope"] else { return nil }
        guard let scope = Scope(text, of: settings.knownScope) else {
            throw OAuthError(.invalidScope, "scope has an unknown name")
        }
        return scope
    }

    /// Checks the assertion of a workload, and returns its subject.
    func workload(_ assertion: String, or code: OAuthError.Code) throws -> String {
        guard let workloads = settings.workloads else { throw OAuthError(code, "workloads are not accepted") }
        return try workloads.subject(of: assertion, audience: audience, at: date, or: code)
    }

    /// The requested target.
    func target() throws -> Target { try Target(parameters, settings: settings) }

    /// Checks that the client has sent a secret. Any secret is accepted.
    func requireSecret() throws {
        guard hasSecret else { throw OAuthError(.invalidClient, "client_secret is missing") }
    }
}

/// A form in the body of a request.
enum FormBody {
    /// The parameters that have a value.
    static func parameters(of request: Request, context: some RequestContext) async throws -> [String: String] {
        let mediaType = request.headers[.contentType]?.prefix { $0 != ";" } ?? ""
        guard mediaType.trimmingSuffix(" ").lowercased() == "application/x-www-form-urlencoded" else {
            throw OAuthError(.invalidRequest, "the body must be a form")
        }
        let body = try await request.body.collect(upTo: context.maxUploadSize)
        return try parameters(in: String(buffer: body))
    }

    /// The parameters of a form or of the query of a URL that have a value.
    ///
    /// `resource` may occur several times (RFC 8707, section 2). Its values are joined with spaces, which no URI
    /// contains.
    static func parameters(in text: String) throws -> [String: String] {
        let pairs = text.split(separator: "&")
        let resources = pairs.filter { $0.hasPrefix("resource=") }
        let others = pairs.filter { !$0.hasPrefix("resource=") }
        do {
            let decoder = URLEncodedFormDecoder()
            var all = try decoder.decode([String: String].self, from: others.joined(separator: "&"))
            let values = try resources.compactMap {
                try decoder.decode([String: String].self, from: String($0))["resource"]
            }
            all["resource"] = values.joined(separator: " ")
            return all.filter { !$0.value.isEmpty }
        } catch {
            // The decoder's error quotes the client's input, which may contain a password.
            throw OAuthError(.invalidRequest, "the form is malformed, or has a parameter twice")
        }
    }
}

extension Substring {
    fileprivate func trimmingSuffix(_ character: Character) -> Substring {
        var text = self
        while text.last == character { text.removeLast() }
        return text
    }
}
