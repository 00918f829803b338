import AccountKit
import AccountSupport

extension SignInAttempt {
    /// Adds a hint to an error if the client ID, or the client secret from the environment, may be wrong.
    func advised(_ error: any Error) async -> any Error {
        let variable = App.clientSecretVariable
        guard var advised = error as? AccountError else { return error }
        if case .oauthError(let code, let description)? = advised.requestFailure?.failureOfRequest,
            let advice = SignInAdvice(code, description: description, way: plan.way),
            !plan.isMachine || ["invalid_scope", "invalid_target"].contains(code)
        {
            advised.hint = advice.hint
            let scopes = code == "invalid_scope" ? await plan.authority.signInScopes() : []
            if !scopes.isEmpty, !plan.isMachine {
                advised.hint? += ". This sign-in requested \(scopes.joined(separator: ", ").shown)"
            }
            return advised
        }
        // An endpoint that does not explain itself may be missing, or may not be for this client.
        if advised.code == .serviceUnavailable, advised.requestFailure?.mayBeWayOfSignIn == true,
            let other = [SignInWay.device: "--web", .browser: "--device"][plan.way], App.offers([.browser, .device])
        {
            advised.hint = "nothing was changed; try again, or sign in another way with \(other)"
        }
        guard advised.code == .misconfigured, advised.hint == nil else { return advised }
        if plan.isWorkload {
            // Other errors of this code contain their advice.
            guard case .oauthError? = advised.requestFailure else { return advised }
            advised.hint =
                "check that the service trusts the issuer, the subject and the audience of the assertion. The audience "
                + "must be the address of the service"
        } else if plan.isMachine {
            advised.hint =
                command.machine.clientKey.map {
                    "check --client-id, and that the service knows the public key of \($0)"
                }
                ?? "check --client-id, and the client secret in \(variable) or from --client-secret-stdin"
        } else if plan.service.clientSecret != nil {
            advised.hint = "check the client ID and the client secret"
        } else if Environment.value(variable) != nil {
            advised.hint = "check the client secret in \(variable), or unset \(variable) if the client has no secret"
        } else if case .oauthError("invalid_client", _)? = advised.requestFailure {
            advised.hint = "check --client-id; if the client has a secret, set \(variable)"
        }
        if advised.hint == nil, case .oauthError? = advised.requestFailure {
            advised.hint =
                "compare --client-id, --redirect-uri and --scope with the registration of the client at the service"
        }
        return advised
    }
}

extension AuthorityError {
    /// Whether an endpoint of a sign-in responded, but neither with an OAuth error nor because it is unavailable.
    fileprivate var mayBeWayOfSignIn: Bool {
        switch failureOfRequest {
        case .refused, .unauthorized, .forbidden, .unclear: true
        default: false
        }
    }
}
