/// The pages of the browser flow.
enum AuthorizationPage {
    /// The fields that the form adds to the request's parameters. They are never taken from the client.
    static let ownFields: Set<String> = ["username", "password", "decision"]

    /// The form for the password, which includes the request's parameters.
    ///
    /// - Parameters:
    ///   - action: The path of the form's request.
    ///   - notice: The problem with the previous attempt.
    static func form(
        _ request: AuthorizationRequest,
        action: String,
        username: String = "",
        notice: String = ""
    ) -> String {
        let carried = request.parameters.sorted { $0.key < $1.key }.map { name, value in
            #"<input type="hidden" name="\#(name.escapedForHTML)" value="\#(value.escapedForHTML)">"#
        }
        let content = """
            <p>A program on this machine asks for your account.</p>
            \(notice.isEmpty ? "" : "<p role=\"alert\">\(notice.escapedForHTML)</p>")
            <form method="post" action="\(action.escapedForHTML)">
            \(carried.joined(separator: "\n"))
            <p><label>Username <input name="username" value="\(username.escapedForHTML)" autocomplete="username"></label></p>
            <p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
            <p><button name="decision" value="approve">Sign in</button>
            <button name="decision" value="deny">Refuse</button></p>
            </form>
            """
        return HTMLPage(title: "Sign in to a program", content: content).text
    }

    /// The page for a request that cannot be redirected to the client.
    static func failure(_ text: String) -> String {
        HTMLPage(title: "This sign-in cannot continue", content: "<p>\(text.escapedForHTML)</p>").text
    }
}
