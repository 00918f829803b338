import AccountKit
import Foundation
import Testing

@testable import AccountCommands
import AccountSupport

@Suite struct RedirectPageTests {
    private static let address = "https://login.example.com/authorize?state=a&nonce=b\"<script>"

    private func run(_ test: (_ folder: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/page é \(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
        try test(folder)
    }

    @Test func `Creates a private redirect page that the caller can remove`() throws {
        try run { folder in
            let page = try RedirectPage(to: Self.address, in: folder, below: folder)
            let attributes = try FileManager.default.attributesOfItem(atPath: page.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let text = try String(contentsOfFile: page.path, encoding: .utf8)
            let shown = "https://login.example.com/authorize?state=a&amp;nonce=b&quot;&lt;script&gt;"
            #expect(text.contains("content=\"0; url=\(shown)\""))
            #expect(text.contains("href=\"\(shown)\""))
            #expect(page.url.utf8.allSatisfy { 0x21...0x7E ~= $0 })
            #expect(URL(string: page.url)?.path(percentEncoded: false) == page.path)
            page.remove()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test func `Removes redirect pages of ended processes, and no other files`() throws {
        try run { folder in
            let used = try RedirectPage(to: Self.address, in: folder, below: folder)
            let others = [
                "account-sign-in-notes.html", "account-sign-in-0123456789ABCDEF.html", "0123456789abcdef.html",
            ]
            for name in ["account-sign-in-0123456789abcdef.html"] + others {
                try Data("x".utf8).write(to: URL(filePath: folder + "/" + name))
            }
            let next = try RedirectPage(to: Self.address, in: folder, below: folder)
            let pages = [used, next].map { URL(filePath: $0.path).lastPathComponent }
            #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder)) == Set(pages + others))
            used.remove()
            next.remove()
        }
    }

    @Test func `Creates no redirect page in a folder that others can write to`() throws {
        try run { folder in
            try FileManager.default.setAttributes([.posixPermissions: 0o770], ofItemAtPath: folder)
            let error = #expect(throws: AccountError.self) {
                try RedirectPage(to: Self.address, in: folder, below: folder)
            }
            #expect(error?.code == .insecureContainer)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }
}
