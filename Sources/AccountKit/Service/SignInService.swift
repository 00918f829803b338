/// The service at which a user signs in for an API.
package struct SignInService: Sendable, Equatable {
    /// The issuer identifier.
    package let issuer: String

    /// The host of the issuer, with its port unless it is the default.
    package let place: String

    /// The host of the API, with its port unless it is the default.
    package let apiPlace: String

    /// Whether the user or the app named the service, also by the URL of an API that is the service itself.
    package let isGiven: Bool

    /// Whether only the API names the service, and not the user, the app or the entry of a known service.
    package let isNamedByAPIOnly: Bool

    /// Whether the host of the API is the host of the service, or a parent or child of it.
    package let isNearAPI: Bool

    /// Creates the service; see the properties.
    package init(
        issuer: String, place: String, apiPlace: String, isGiven: Bool, isNamedByAPIOnly: Bool, isNearAPI: Bool
    ) {
        self.issuer = issuer
        self.place = place
        self.apiPlace = apiPlace
        self.isGiven = isGiven
        self.isNamedByAPIOnly = isNamedByAPIOnly
        self.isNearAPI = isNearAPI
    }
}
