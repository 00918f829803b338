/// A page for people: plain HTML, no scripts.
struct HTMLPage {
    let title: String
    /// What follows the heading, as HTML.
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
    /// The text as it is written in HTML, also inside a quoted attribute.
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
