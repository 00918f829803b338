import AccountKit
import AccountSupport

/// A service that `login` offers by name.
public struct ServiceDescription: Sendable {
    package var name: String
    var otherNames: [String]
    var title: String
    package var issuer: String
    var needsIssuer: Bool
    var registrationPage: String
    var registrationAdvice: String?
    var supportsBrowser: Bool
    var hasClientSecret: Bool
    var endedSessionNote: String?

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - name: The name on the command line, such as `github`.
    ///   - otherNames: Other names for the service, such as one that an earlier version of the app stored with sessions.
    ///   - title: The name to show, such as `GitHub`.
    ///   - issuer: The issuer's URL, in the spelling that the service's authority uses; or its form, if the service needs an
    ///     issuer.
    ///   - needsIssuer: Whether the user must name the issuer, because each customer of the service has one.
    ///   - registrationPage: The page on which the user registers an app, to obtain a client ID.
    ///   - registrationAdvice: The settings to enter on the `registrationPage`; `nil` if the service needs none.
    ///   - supportsBrowser: Whether the service supports a sign-in with the browser.
    ///   - hasClientSecret: Whether the service requires a client secret in addition to the client ID.
    ///   - endedSessionNote: Why the service may end sessions that the user did not revoke, as part of a sentence; `nil` if
    ///     nothing is known.
    public init(
        name: String, otherNames: [String] = [], title: String, issuer: String, needsIssuer: Bool = false,
        registrationPage: String, registrationAdvice: String? = nil, supportsBrowser: Bool = true,
        hasClientSecret: Bool = false, endedSessionNote: String? = nil
    ) {
        self.name = name
        self.otherNames = otherNames
        self.title = title
        self.issuer = issuer
        self.needsIssuer = needsIssuer
        self.registrationPage = registrationPage
        self.registrationAdvice = registrationAdvice
        self.supportsBrowser = supportsBrowser
        self.hasClientSecret = hasClientSecret
        self.endedSessionNote = endedSessionNote
    }

    /// Returns the issuer.
    ///
    /// - Throws: `invalidArgument` if the user must name it.
    func defaultIssuer() throws(AccountError) -> String {
        guard needsIssuer else { return issuer }
        throw AccountError(
            .invalidArgument, "\(title) has an address for each customer", hint: "pass this URL: \(issuer)")
    }

    /// Returns whether a name means this service, in any case.
    func isNamed(_ name: String) -> Bool {
        let name = name.lowercased()
        return self.name == name || otherNames.contains(name)
    }
}

extension AccountApplication {
    /// Returns the service with a name, in any case.
    static func service(named name: String?) -> ServiceDescription? {
        name.flatMap { name in services.first { $0.isNamed(name) } }
    }

    /// Returns the service that the user chose by its name.
    ///
    /// - Throws: `invalidArgument` if the app has no service with this name.
    static func chosenService(named name: String) throws(AccountError) -> ServiceDescription {
        if let service = service(named: name) { return service }
        guard !services.isEmpty else {
            throw AccountError(
                .invalidArgument, "this tool knows no service by its name", hint: "omit --service, and pass a URL")
        }
        let names = services.map(\.name)
        throw AccountError(
            .invalidArgument, "there is no known service '\(name.shown)'",
            hint: (Suggestion.nearest(to: name, among: names).map { "did you mean '\($0)'? T" } ?? "t")
                + "he known services are \(names.joined(separator: ", ")). For any other service, omit --service, and pass its URL"
        )
    }

    /// Returns the name of the service at an address without `https://`, such as `github.com`, or with a name.
    static func service(at address: String) -> String? {
        let host = String(address.lowercased().withoutEndingSlash)
        let found = services.first { $0.issuer == "https://\(host)" } ?? service(named: host)
        return found?.name
    }

    /// Returns whether two names mean the same service, which may have several.
    static func isSameService(_ one: String?, _ other: String?) -> Bool {
        one == other || service(named: one).map { $0.name == service(named: other)?.name } ?? false
    }
}
