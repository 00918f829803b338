/// A page for users: plain HTML without scripts.
struct HTMLPage {
    let title: String
    /// The HTML after the heading.
    let content: String

    var text: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head><meta charset="utf-8"><title>\(title.escapedForHTML)</title></head>
        <body>
        <h1>\(title.escapedForHTML)</h1>
        \(content)
        </body>
        </html>

        """
    }
}

extension String {
    /// The text escaped for HTML, including quoted attributes.
    var escapedForHTML: String {
        reduce(into: "") { result, character in
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
