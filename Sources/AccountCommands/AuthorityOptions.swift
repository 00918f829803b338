public import Logging

/// The service, the time limit and the logger for an authority; see ``AccountApplication/authority(with:)``.
public struct AuthorityOptions: Sendable {
    /// The service that the user chose, or the service of the stored account. Empty if
    /// ``AccountApplication/acceptsIssuer`` is `false`.
    public var service: AccountService

    /// The time limit of a request.
    public var timeout: Duration

    /// The logger for requests, if the user requested logging. Do not log secrets.
    public var logger: Logger?

    /// Creates options; see the properties.
    public init(service: AccountService = AccountService(), timeout: Duration = .seconds(10), logger: Logger? = nil) {
        self.service = service
        self.timeout = timeout
        self.logger = logger
    }
}
