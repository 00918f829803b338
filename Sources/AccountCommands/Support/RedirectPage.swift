import AccountKit
import AccountSupport

/// A file with a page that redirects the browser to the address of a sign-in.
///
/// Every user of the machine can read the arguments of a process (proc(5), `cmdline`), and the address contains the
/// values that bind a response to the sign-in: `state`, `nonce` and `code_challenge`. Therefore the browser gets the
/// name of a file that only its owner can read. The file is in the downloads folder or the home directory, because a
/// browser from a Snap or Flatpak cannot access `/tmp` or hidden folders.
///
/// The file stays open and therefore locked, so that the next sign-in removes only files of processes that have ended.
final class RedirectPage: Sendable {
    private static let prefix = "account-sign-in-"
    private static let suffix = ".html"

    let path: String

    private let file: FileDescriptor

    /// Writes the page to the first folder that only this user can change. If there is none, throws the error for the
    /// last folder.
    static func write(to address: String) async throws(AccountError) -> RedirectPage {
        guard let home = Environment.homeDirectory else {
            throw AccountError(.inaccessible, "there is no home directory", hint: "set HOME")
        }
        let answer = await ExternalProgram.output(of: "xdg-user-dir", ["DOWNLOAD"])
        var downloads = answer?.split(separator: "\n").first.map(String.init) ?? home
        // `xdg-user-dir` prints the home directory if the user has not configured a folder.
        if downloads == home { downloads += "/Downloads" }
        if downloads.hasPrefix(home + "/") {
            do {
                return try RedirectPage(to: address, in: downloads, below: home)
            } catch {
                // Fall back to the home directory.
            }
        }
        return try RedirectPage(to: address, in: home, below: home)
    }

    init(to address: String, in folder: String, below root: String) throws(AccountError) {
        try ArchiveDirectory(path: folder, root: root).checkTrust()
        Self.removeLeftovers(in: folder)
        do throws(SystemCallError) {
            file = try Self.create(in: folder)
            path = file.path
            do throws(SystemCallError) {
                try file.setPermissions(0o600)
                try file.write(Array(Self.html(to: address).utf8))
            } catch {
                _ = try SystemCall.remove(file.path)
                throw error
            }
        } catch {
            throw AccountError(
                .inaccessible, "cannot write the page that starts the sign-in to \(folder)", cause: error)
        }
    }

    private static func create(in folder: String) throws(SystemCallError) -> FileDescriptor {
        while true {
            let digits = (0..<8).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal
            let file = try FileDescriptor.create(folder + "/" + prefix + digits + suffix)
            // Another process may have removed the file before it was locked. Without support for locks, no process
            // removes it.
            if (try? file.tryLock()) != false, try file.isAtItsPath() { return file }
        }
    }

    /// Removes the pages of processes that were killed.
    private static func removeLeftovers(in folder: String) {
        // If this fails, the next sign-in tries again.
        guard let names = try? SystemCall.names(in: folder) else { return }
        for name in names where isName(name) { SystemCall.removeUnlessLocked(folder + "/" + name) }
    }

    /// Returns whether a name has exactly the form of a page's name, since the user may keep other files in the folder.
    private static func isName(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
        let digits = name.dropFirst(prefix.count).dropLast(suffix.count)
        return digits.utf8.count == 16 && digits.allSatisfy { $0.isHexDigit && !$0.isUppercase }
    }

    /// The URL of the file, such as `file:///home/alice/Downloads/account-sign-in-0123456789abcdef.html`.
    var url: String { "file://" + path.percentEncoded(keeping: "/-._~") }

    func remove() {
        do {
            _ = try SystemCall.remove(path)
        } catch {
            Terminal.say("note: \(path) is no longer needed, but cannot be removed (\(error.userText)).")
        }
    }

    private static func html(to address: String) -> String {
        let address = HTMLPage.escaped(address)
        return HTMLPage.document(
            head: [
                #"<meta name="referrer" content="no-referrer">"#,
                #"<meta http-equiv="refresh" content="0; url=\#(address)">"#,
                "<title>Sign in</title>",
            ],
            body: #"<p><a href="\#(address)">Continue to the sign-in</a></p>"#)
    }
}
