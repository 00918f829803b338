extension ExampleServer {
    /// Sends the form of the device page with the user's decision.
    ///
    /// - Parameter page: The address that the device showed; `/device` if omitted.
    func decide(
        _ decision: String, _ code: String, at page: String? = nil, username: String = "alice",
        password: String = alicePassword
    ) async throws {
        let form = [
            "user_code=\(code)", "username=\(username)", "password=\(password.replacing(" ", with: "+"))",
            "decision=\(decision)",
        ]
        let response = try await HTTP.postForm(page ?? issuer + "/device", form.joined(separator: "&"))
        guard response.status == 200 else { throw Unexpected(response.text) }
    }
}
