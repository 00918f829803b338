import AccountKit
import AccountSupport

extension AccessRequirement {
    /// Reads the requirement from a response; `nil` if the response names none. Challenges that contradict each other
    /// name none. The requirement contains no value that repeats one of the `secrets` of the request, because AccountKit
    /// shows it.
    init?(_ response: ServiceResponse, hiding secrets: [Secret]) {
        guard response.status == 401 || response.status == 403 else { return nil }
        let challenges = response.challenges.filter { $0.scheme == "bearer" || $0.scheme == "dpop" }
        guard challenges.count == 1, let parameters = challenges.first?.parameters else { return nil }
        let text = ServerText(secrets: secrets)
        func isShowable(_ value: String) -> Bool {
            !text.repeatsSecret(value, notShorterThan: ServerText.shortestSecret)
        }
        let scopes = Scope.scopes(in: parameters["scope"] ?? "").filter(isShowable)
        // An invalid address does not change the requirement.
        let metadata = parameters["resource_metadata"].flatMap { (try? ServiceURL($0))?.description }
            .flatMap { isShowable($0) ? $0 : nil }
        let error = parameters["error"]
        if response.status == 403 {
            guard error == "insufficient_scope" else { return nil }
            self.init(scopes: scopes, resourceMetadata: metadata)
            return
        }
        // RFC 9470, section 3. Another error, such as `invalid_token`, has another meaning.
        guard error == nil || error == "insufficient_user_authentication" else { return nil }
        let classes = (parameters["acr_values"] ?? "").split(separator: " ").map(String.init)
            .filter { $0.utf8.count <= 256 && $0.utf8.allSatisfy { 0x21...0x7E ~= $0 } && isShowable($0) }
        let seconds = parameters["max_age"].flatMap { UInt32($0) }
        guard !classes.isEmpty || seconds != nil else { return nil }
        self.init(
            scopes: scopes, acrValues: Array(classes.prefix(16)), maxAge: seconds.map { .seconds(Int64($0)) },
            resourceMetadata: metadata)
    }
}
