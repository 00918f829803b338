import AccountKit
import AccountSupport

/// The service that the options and answers name, otherwise the service of the session's last sign-in.
extension SignInPlanner {
    /// The client ID in an answer or option. Text from a file may have spaces around it.
    var clientID: String? { (answers?.clientID ?? command.issuer.clientID)?.trimmed }

    /// Returns the service, with everything that the options and answers add to it.
    ///
    /// - Parameter account: The account whose permissions the sign-in extends.
    func service(extending account: Account? = nil) throws -> AccountService {
        var service = try namedService()
        apply(to: &service)
        if let account {
            try addEarlierScopes(of: account, to: &service)
            if account.credentials.proofKey != nil { service.bindsTokens = command.authorization.dpop ?? true }
        }
        return service
    }

    private func namedService() throws -> AccountService {
        let name = (answers?.serviceName ?? command.serviceName)?.trimmed.lowercased()
        var url = (answers?.url ?? command.url)?.trimmed
        var issuer = (answers?.issuer ?? command.issuer.issuer)?.trimmed
        guard App.acceptsIssuer || name == nil && url == nil && issuer == nil && clientID == nil else {
            throw AccountError(
                .invalidArgument, "the service of this tool is fixed",
                hint: "omit the URL, --service, --issuer and --client-id")
        }
        let chosen = try name.map(App.chosenService)
        if let address = url, issuer == nil, name != nil || !context.acceptsAPIs {
            // The URL is that of the service.
            (issuer, url) = (address, nil)
        }
        let remembered = App.acceptsIssuer ? try context.preferences.service(of: context.session) : nil
        guard !App.acceptsIssuer || name != nil || url != nil || issuer != nil || remembered != nil else {
            throw AccountError(
                .invalidArgument,
                "specify the service",
                hint: "pass the URL of the API or of its service, such as https://api.example.com"
                    + (App.services.first.map { ", or --service \($0.name)" } ?? ""))
        }
        let hasSameIssuer =
            issuer == nil || issuer?.withoutEndingSlash == remembered?.issuer?.withoutEndingSlash
        if let url = url ?? (name == nil && issuer == nil ? remembered?.url : nil) {
            guard context.acceptsAPIs else {
                throw AccountError(
                    .invalidArgument, "this tool does not sign in by the URL of an API",
                    hint: "pass only the URL of the service")
            }
            // The settings, such as the client ID, are for the service of the last sign-in.
            let isSame = url == remembered?.url && hasSameIssuer
            var service = isSame ? remembered ?? AccountService() : AccountService()
            service.url = url
            // The API names its authorization server again at each sign-in, so an earlier one is remembered only if the user
            // named it.
            service.issuer = issuer ?? (service.isIssuerNamed == true ? service.issuer : nil)
            service.isIssuerNamed = service.issuer == nil ? nil : true
            return service
        }
        // Without options, use the same service again. A name without an issuer means the service at its own address.
        let isSame = (name == nil || App.isSameService(name, remembered?.name)) && hasSameIssuer
        var service = isSame ? remembered ?? AccountService() : AccountService()
        (service.url, service.isIssuerNamed) = (nil, nil)
        service.name = chosen?.name ?? service.name
        service.issuer =
            try issuer ?? (name == nil ? service.issuer : nil) ?? App.service(named: service.name)?.defaultIssuer()
        return service
    }

    private func apply(to service: inout AccountService) {
        let (request, authorization) = (command.request, command.authorization)
        service.clientID = clientID ?? service.clientID
        service.clientMetadataURL = authorization.clientMetadataURL ?? service.clientMetadataURL
        service.redirectURI = authorization.redirectURI ?? service.redirectURI
        service.audience = request.audience ?? service.audience
        service.clientAuthentication = request.clientAuth?.method ?? service.clientAuthentication
        service.bindsTokens = authorization.dpop ?? service.bindsTokens
        if !request.scopes.isEmpty || request.defaultScopes != nil {
            service.scopes = request.scopes
            service.usesDefaultScopes = request.defaultScopes ?? true
        }
        if !request.resources.isEmpty { (service.resources, service.omitsResource) = (request.resources, nil) }
        if request.noResource { (service.resources, service.omitsResource) = ([], true) }
        if !authorization.parameters.isEmpty { service.parameters = authorization.parameters.values }
        service.username = command.username
        service.clientSecret = answers?.clientSecret
        service.registersAgain = command.register
    }
}
