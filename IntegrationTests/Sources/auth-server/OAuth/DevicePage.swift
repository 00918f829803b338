/// The pages for approving a sign-in on another device: plain HTML without scripts.
enum DevicePage {
    private static let title = "Sign in on a device"

    /// The form for the code and the password.
    ///
    /// - Parameters:
    ///   - action: The path of the form's request.
    ///   - notice: The problem with the previous attempt.
    static func form(userCode: String, action: String, notice: String = "") -> String {
        let content = """
            <p>\(notice.escapedForHTML)</p>
            <form method="post" action="\(action.escapedForHTML)">
            <p><label>Code shown on your device <input name="user_code" value="\(userCode.escapedForHTML)"></label></p>
            <p><label>Username <input name="username" autocomplete="username"></label></p>
            <p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
            <p><button name="decision" value="approve">Sign in</button>
            <button name="decision" value="deny">Refuse</button></p>
            </form>
            """
        return HTMLPage(title: title, content: content).text
    }

    /// The page after the decision.
    static func result(_ text: String) -> String {
        HTMLPage(title: title, content: "<p>\(text.escapedForHTML)</p>").text
    }
}
