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
}
