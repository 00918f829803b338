/// The pages a user sees when agreeing to a sign-in on another device: plain HTML, no scripts.
enum DevicePage {
    /// The form for the code and the password.
    ///
    /// - Parameter notice: what was wrong the last time.
    static func form(userCode: String, notice: String = "") -> String {
        page(
            """
            <p>\(escaped(notice))</p>
            <form method="post" action="/device">
            <p><label>Code shown on your device <input name="user_code" value="\(escaped(userCode))"></label></p>
            <p><label>Username <input name="username" autocomplete="username"></label></p>
            <p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
            <p><button name="decision" value="approve">Sign in</button>
            <button name="decision" value="deny">Refuse</button></p>
            </form>
            """
        )
    }

    /// The page after the decision.
    static func result(_ text: String) -> String {
        page("<p>\(escaped(text))</p>")
    }

    private static func page(_ content: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head><meta charset="utf-8"><title>Sign in on a device</title></head>
        <body>
        <h1>Sign in on a device</h1>
        \(content)
        </body>
        </html>

        """
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.append(character)
            }
        }
    }
}
