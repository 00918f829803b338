import AccountKit

/// A file whose page sends the browser on to the address of a sign-in.
///
/// Every user of the machine can read the arguments of a process (proc(5), `cmdline`), and the address contains what makes a response
/// belong to the sign-in: `state`, `nonce` and `code_challenge`. So the browser gets the name of a file that only its owner can read.
///
/// The file is in the downloads folder or, if there is none, in the home directory: a browser that was installed as a Snap or a
/// Flatpak sees neither `/tmp` nor hidden folders.
struct RedirectPage: Sendable {
    private static let prefix = "account-sign-in-"
    private static let suffix = ".html"

    let path: String

    /// Writes the page into the first folder that only this user can change.
    ///
    /// - Parameters:
    ///   - address: Where the page sends the browser.
    ///   - hidden: Environment variables that no program gets.
    /// - Throws: Why the last of the folders cannot be used.
    static func write(to address: String, hiding hidden: [String]) async throws(AccountError) -> RedirectPage {
        guard let home = Environment.homeDirectory else {
            throw AccountError(.inaccessible, "there is no home directory: set HOME")
        }
        let answer = await ExternalProgram.output(of: "xdg-user-dir", ["DOWNLOAD"], hiding: hidden)
        var downloads = answer?.split(separator: "\n").first.map(String.init) ?? home
        // `xdg-user-dir` prints the home directory if the user has not chosen a folder.
        if downloads == home { downloads += "/Downloads" }
        if downloads.hasPrefix(home + "/") {
            do {
                return try RedirectPage(to: address, in: downloads, below: home)
            } catch {
                // The home directory is the other place.
            }
        }
        return try RedirectPage(to: address, in: home, below: home)
    }

    init(to address: String, in folder: String, below root: String) throws(AccountError) {
        try ArchiveDirectory(path: folder, root: root).checkTrust()
        let name = Self.prefix + String(UInt64.random(in: 0 ... .max), radix: 36) + Self.suffix
        path = folder + "/" + name
        do throws(SystemCallError) {
            let file = try FileDescriptor.create(path)
            do throws(SystemCallError) {
                try file.setPermissions(0o600)
                try file.write(Array(Self.html(to: address).utf8))
            } catch {
                _ = try SystemCall.remove(path)
                throw error
            }
        } catch {
            throw AccountError(.inaccessible, "the page for it cannot be written to \(folder)", cause: error)
        }
    }

    /// Such as `file:///home/alice/Downloads/account-sign-in-3k2j.html`.
    var url: String {
        "file://"
            + path.utf8.map { byte in
                let isPlain =
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"):
                        true
                    default: "/-._~".utf8.contains(byte)
                    }
                let hex = String(byte, radix: 16, uppercase: true)
                return isPlain ? String(UnicodeScalar(byte)) : "%" + (hex.count < 2 ? "0" : "") + hex
            }.joined()
    }

    func remove() {
        do {
            _ = try SystemCall.remove(path)
        } catch {
            Terminal.say("note: \(path) is of no use any more, and could not be removed (\(error)).")
        }
    }

    private static func html(to address: String) -> String {
        let address = address.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="referrer" content="no-referrer">
            <meta http-equiv="refresh" content="0; url=\(address)">
            <title>Sign in</title>
            </head>
            <body>
            <p><a href="\(address)">Continue to the sign-in</a></p>
            </body>
            </html>

            """
    }
}
