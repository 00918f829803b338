/// The frame of the pages that a sign-in shows in the browser.
package enum HTMLPage {
    /// Returns an HTML document.
    ///
    /// - Parameters:
    ///   - head: The elements of the head after the character encoding, such as the title.
    ///   - body: The content of the body. The caller escapes external text.
    package static func document(head: [String], body: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        \(head.joined(separator: "\n"))
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    /// Returns the text as HTML that is also safe in attributes.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
