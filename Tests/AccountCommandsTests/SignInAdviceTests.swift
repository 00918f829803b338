import AccountKit
import Testing

@testable import AccountCommands

/// Each error of the authorization server that an option of `login` resolves leads to this option.
struct SignInAdviceTests {
    @Test(
        arguments: [
            ("invalid_scope", nil, "--no-default-scopes --scope NAME"), ("invalid_target", nil, "--no-resource"),
            ("invalid_redirect_uri", nil, "--redirect-uri URI"), ("redirect_uri_mismatch", nil, "--redirect-uri URI"),
            ("invalid_client_metadata", nil, "--client-id ID"),
            ("unapproved_software_statement", nil, "--client-id ID"),
            ("unauthorized_client", nil, "--device, --web or --client-id ID"),
            ("unsupported_grant_type", nil, "--device, --web or --client-id ID"),
            ("unsupported_response_type", nil, "--device, --web or --client-id ID"),
            ("request_uri_not_supported", nil, "--device"),
            ("consent_required", nil, "--web --parameter prompt=consent"),
            ("login_required", nil, "--web --parameter prompt=login"),
            ("interaction_required", nil, "--web --parameter prompt=login"),
            ("account_selection_required", nil, "--web --parameter prompt=select_account"),
            (
                "invalid_request",
                "AADSTS9010010: The resource parameter provided in the request doesn't match with the requested scopes.",
                "--no-resource"
            ),
            ("invalid_request", "The redirect_uri is not registered", "--redirect-uri URI"),
            ("invalid_request", "Pushed Authorization Request is required", "--device"),
            ("invalid_request", "unknown scope", "--no-default-scopes --scope NAME"),
            ("device_flow_disabled", nil, "--device, --web or --client-id ID"),
            (
                "access_denied", "The resource owner or authorization server denied the request", nil
            ),
            ("access_denied", "The resource server is not available", nil),
            ("invalid_request", "something else", nil), ("invalid_request", nil, nil), ("access_denied", nil, nil),
            ("invalid_grant", nil, nil), ("invalid_client", nil, nil), ("server_error", nil, nil), ("", nil, nil),
        ] as [(String, String?, String?)])
    func `Names the option that helps against an error`(code: String, description: String?, options: String?) {
        let advice = SignInAdvice(code, description: description)
        #expect(advice?.options == options)
        if let advice { #expect(advice.hint.hasPrefix("add \(advice.options), which ")) }
    }

    @Test(arguments: [
        (SignInWay.device, "--web or --client-id ID"), (.browser, "--device or --client-id ID"),
        (.password, "--device, --web or --client-id ID"),
    ])
    func `Names another way than the one that the service refused`(way: SignInWay, options: String) {
        for code in ["unauthorized_client", "unsupported_grant_type", "device_flow_disabled"] {
            #expect(SignInAdvice(code, way: way)?.options == options)
        }
    }

    @Test(
        arguments: [
            ("invalid_target: unknown", "--no-resource"), ("invalid_scope", "--no-default-scopes --scope NAME"),
            ("invalid_request: resource is not allowed", "--no-resource"), ("invalid_request", nil),
            // Another sign-in alone helps.
            ("interaction_required: AADSTS50076", nil), ("unauthorized_client", nil),
            ("404 from the token endpoint", nil),
            ("my_invalid_scope_error", nil),
        ] as [(String, String?)])
    func `Names the option for a session that is no longer renewed`(detail: String, options: String?) throws {
        #expect(SignInAdvice(mentionedIn: detail)?.options == options)
        let hint = CommandHint(tool: "account", session: try SessionName("work"))
        let command = "sign in again with `account login --session work\(options.map { " " + $0 } ?? "")`"
        #expect(StateText.signInAgain(after: detail, hint) == command)
        var error = AccountError(
            .renewalRefused, "the service no longer renews this session (\(detail))", hint: "sign in again")
        error.nameSignIn(command: "account login --session work", orReplaceTokenIn: nil)
        #expect(error.hint == command)
        #expect(error.exitCode == 77)
    }
}
