/// The pages a user sees when a program has opened the browser for a sign-in.
enum AuthorizationPage {
    /// What the form adds to the parameters of the request, which are never taken from the client.
    static let ownFields: Set<String> = ["username", "password", "decision"]

    /// The form for the password; it carries the request along.
    ///
    /// - Parameters:
    ///   - action: the path that the form goes to.
    ///   - notice: what was wrong the last time.
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

    /// The page for a request from which there is no way back.
    static func failure(_ text: String) -> String {
        HTMLPage(title: "This sign-in cannot go on", content: "<p>\(text.escapedForHTML)</p>").text
    }
}
