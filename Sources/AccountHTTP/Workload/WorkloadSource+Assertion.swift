import AccountCrypto
import AccountKit
import AccountSupport

extension WorkloadSource {
    /// The maximum size of an assertion in bytes. The output of a program must fit into a pipe.
    static let sizeLimit = 1 << 16

    /// Requests a new assertion.
    ///
    /// - Parameters:
    ///   - audience: The identifier of the authorization server. Only GitHub Actions needs it, because the other sources
    ///     determine the audience themselves.
    ///   - timeout: The maximum duration of a program.
    ///   - environment: Returns the value of a variable.
    ///   - send: Sends a request.
    /// - Throws: `misconfigured`, with advice, if there is no assertion.
    func assertion(
        for audience: String, timeout: Duration, environment: (String) -> String? = Environment.value,
        send: (ServiceRequest) async throws(AuthorityError) -> ServiceResponse
    ) async throws(AuthorityError) -> Secret {
        let assertion: Secret
        let origin: String
        switch kind {
        case .gitHubActions:
            origin = "the token service of GitHub Actions"
            assertion = try await gitHubAssertion(for: audience, environment: environment, send: send)
        case .environment(let name):
            origin = "the variable \(name)"
            guard let value = environment(name) else {
                let advice =
                    kind == Self.gitLab.kind ? "list it in id_tokens of the job, with `aud: \(audience)`" : "set it"
                throw .misconfigured("the variable \(name), which contains the assertion, is not set: \(advice)")
            }
            assertion = Secret(value).trimmed
        case .file(let path):
            origin = "the file \(path)"
            assertion = try Self.firstLine(ofFile: path)
        case .command(let command):
            origin = "the program `\(command[0])`"
            assertion = try await Self.firstLine(of: command, timeout: timeout)
        }
        guard assertion.byteCount > 0 else {
            throw .misconfigured("\(origin) contains no assertion: the first line is empty")
        }
        guard assertion.byteCount <= Self.sizeLimit, assertion.withUnsafeBytes({ ResponseParser.isToken($0) }) else {
            throw .misconfigured(
                "\(origin) does not contain an assertion: an assertion has no spaces and at most 64 KiB. Check the source"
            )
        }
        return assertion
    }

    private func gitHubAssertion(
        for audience: String, environment: (String) -> String?,
        send: (ServiceRequest) async throws(AuthorityError) -> ServiceResponse
    ) async throws(AuthorityError) -> Secret {
        let advice = "add `permissions: id-token: write` to the job"
        let (address, variable) = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        guard let text = environment(address) else { throw .misconfigured("\(address) is not set: \(advice)") }
        guard let token = environment(variable) else { throw .misconfigured("\(variable) is not set: \(advice)") }
        var encoded = WipedBytes()
        FormBody.encode(audience.utf8, into: &encoded)
        let url: ServiceURL
        do throws(ServiceURL.Flaw) {
            let separator = text.contains("?") ? "&" : "?"
            url = try ServiceURL(text + separator + "audience=" + String(decoding: encoded, as: UTF8.self))
        } catch {
            throw .misconfigured("the URL in \(address) \(error.text): \(advice), and don't set the variable yourself")
        }
        let response: ServiceResponse
        do throws(AuthorityError) {
            response = try await send(ServiceRequest(url: url, bearer: Secret(token)))
        } catch {
            guard !error.isCancellation else { throw error }
            throw .misconfigured(
                "GitHub Actions issued no assertion (\(SessionDecision.reason(for: error))): run the job again")
        }
        guard response.status == 200, let object = ResponseObject(response.body, secrets: ["value"]),
            let value = object.secrets["value"]
        else {
            throw .misconfigured(
                "GitHub Actions issued no assertion (the response has status \(response.status)): \(advice)")
        }
        return value
    }

    private static func firstLine(ofFile path: String) throws(AuthorityError) -> Secret {
        do throws(AccountError) {
            // A longer first line is refused, and later lines do not matter.
            return try SecretFile(
                path: path, content: "assertion", mayBelongToPlatform: true, advice: "check that the file is mounted"
            ).read(limit: sizeLimit + 2).firstLine
        } catch {
            let cause = error.cause.map { " (\($0))" } ?? ""
            throw .misconfigured("\(error.message)\(cause): \(error.hint ?? "check the path of the assertion")")
        }
    }

    private static func firstLine(of command: [String], timeout: Duration) async throws(AuthorityError) -> Secret {
        do throws(ChildProcess.Failure) {
            return try await ChildProcess.output(
                of: command, for: .other, limit: sizeLimit - 1, timeout: timeout
            ).firstLine
        } catch {
            throw .misconfigured(
                "the program that prints the assertion failed: `\(command[0])` \(error.text). Run the program to see why"
            )
        }
    }
}
