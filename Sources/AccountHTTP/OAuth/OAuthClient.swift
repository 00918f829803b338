public import AccountKit
import AccountSupport

/// How the app identifies itself as a client of a service (RFC 6749, section 2.2).
///
/// A sign-in uses the first of these that is possible:
///
/// 1. the client ID, which the app's developer or the user registered with the service
/// 2. the URL of a metadata document, if the service lists `client_id_metadata_document_supported`
/// 3. a registration (RFC 7591), if the service has a `registration_endpoint` and the client may register
///
/// ```swift
/// let client = OAuthClient(registeringIn: container, name: "Notes")
/// ```
public struct OAuthClient: Sendable {
    var identifier: String?
    package var secret: Secret?
    package var metadataURL: String?

    /// The stored registrations; with `nil`, the app registers nowhere.
    package var registrations: ClientRegistrations?

    var name: String

    #if Signatures
    /// The key with which the client with the ``identifier`` authenticates, instead of with the ``secret``.
    package var key: ClientKey? {
        get { assertion as? ClientKey }
        set { assertion = newValue }
    }
    #endif

    /// The source of the assertions of the ``identifier``, which replace the ``secret``.
    var assertion: (any ClientAssertion)?

    /// The identity of the program on its platform, which replaces the ``secret``.
    var workload: WorkloadIdentity?

    /// Uses the identity of this program on its platform; see ``MachineIdentity``.
    package mutating func identify(by source: WorkloadSource, grant: WorkloadGrant?) throws(AccountError) {
        workload = try WorkloadIdentity(source: source, grant: grant)
    }

    /// Whether the next sign-in registers the app again.
    package var registersAgain = false

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - identifier: The client ID at one service; `nil` if there is none.
    ///   - secret: The secret of the client ID.
    ///   - metadataURL: The `https` URL of a client ID metadata document (draft-ietf-oauth-client-id-metadata-document),
    ///     which is the client ID at each service that supports such documents.
    ///   - container: The container in which AccountKit stores registrations, encrypted. All sessions share them. Without a
    ///     container, the app registers nowhere.
    ///   - name: The name of the app in a registration, which services show to the user.
    public init(
        identifier: String? = nil, secret: Secret? = nil, metadataURL: String? = nil,
        registeringIn container: AppContainer? = nil, name: String = "AccountKit"
    ) {
        self.identifier = identifier
        self.secret = secret
        self.metadataURL = metadataURL
        registrations = container.map { ClientRegistrations(container: $0) }
        self.name = name
    }

    package static func registration(in registrations: ClientRegistrations, name: String) -> OAuthClient {
        var client = OAuthClient(name: name)
        client.registrations = registrations
        return client
    }

    /// Whether a sign-in can choose a client without an ``identifier``.
    var canBeChosen: Bool { identifier != nil || metadataURL != nil || registrations != nil }

    func check() throws(AccountError) {
        if let identifier, identifier.isEmpty || !identifier.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) {
            throw AccountError(.invalidArgument, "the client ID must not be empty, and must consist of printable ASCII")
        }
        guard let metadataURL else { return }
        // Section 3 of the draft.
        guard let url = try? ServiceURL(metadataURL), url.scheme == "https", url.path.count > 1,
            !url.path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
        else {
            throw AccountError(
                .invalidArgument,
                "the address of the client metadata\(ServiceURL.shown(metadataURL)) must be an https URL with a path")
        }
    }
}
