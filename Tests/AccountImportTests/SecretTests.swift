import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Secrets in old files")
struct SecretTests {
    @Test(
        "Omits an imported field whose name suggests a secret",
        arguments: [
            "password", "userPassword", "Pass_Word", "pwd", "passcode", "secret", "clientSecret", "deviceToken",
            "push_token", "apiKey", "api-key", "privateKey", "session", "cookie", "Authorization", "jwt", "PIN", "密码",
        ])
    func leavesOutSecrets(name: String) throws {
        let fields: [String: Any] = [name: "hunter2", "nested": [name: "hunter2", "city": "Bern"]]
        for data in [
            try Legacy.propertyList(Legacy.needed(and: fields)), try Legacy.archive(Legacy.needed(and: fields)),
        ] {
            let imported = try Legacy.read(data)
            #expect(imported.account.profile == ["nested": ["city": "Bern"]])
            #expect(imported.warnings.contains("`\(name)` was left out: it looks like a secret."))
            #expect(imported.warnings.contains("`nested.\(name)` was left out: it looks like a secret."))
            #expect(!imported.warnings.description.contains("hunter2"))
        }
    }

    @Test(
        "Imports fields whose names do not suggest a secret",
        arguments: ["passport", "keyboard", "author", "spinner", "company"])
    func keepsOrdinaryFields(name: String) throws {
        let imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: [name: "x"])))
        #expect(imported.account.profile[name] == "x")
    }

    @Test("Omits any imported field that contains a token")
    func keepsTokensApart() throws {
        let refresh = "refresh-canary-0123456789"
        let fields: [String: Any] = [
            "refresh_token": refresh, "avatarUrl": "https://example.com/8.png?t=\(Legacy.canary)",
            "username": Legacy.canary, "header": "Bearer \(refresh)", Legacy.canary: "name",
            "deep": [["x": [refresh: 1, "y": refresh]]], "data": Data("-\(Legacy.canary)-".utf8),
            "groups": [Legacy.canary], "registerTime": Legacy.canary,
        ]
        for data in [
            try Legacy.propertyList(Legacy.needed(and: fields)),
            try Legacy.propertyList(Legacy.needed(and: fields), format: .xml),
            try Legacy.archive(Legacy.needed(and: fields)),
        ] {
            let imported = try Legacy.read(data)
            #expect(imported.account.profile == ["deep": [["x": [:]]]])
            #expect(imported.account.username == nil)
            #expect(imported.warnings.count >= 7)
            #expect(!imported.warnings.description.contains("canary"))
            #expect(imported.account.credentials.refreshToken == Secret(refresh))
        }
        let sameID = Legacy.refusal(of: try Legacy.propertyList(["token": Legacy.canary, "id": Legacy.canary]))
        #expect(sameID?.code == .damaged)
        #expect(sameID?.description.contains("canary") == false)
    }

    @Test("Does not search imported fields for a short token")
    func ignoresShortTokens() throws {
        let imported = try Legacy.read(try Legacy.propertyList(["token": "8", "id": 8, "phone": "888"]))
        #expect(imported.account.id == "8")
        #expect(imported.account.profile.phoneNumber == "888")
        #expect(imported.account.credentials.accessToken == Secret("8"))
    }

    @Test(
        "Finds a token at any position in an imported field", arguments: ["ababababac", "aaaaaaaab", "abcabcabd"])
    func findsTokens(token: String) throws {
        for text in ["\(token)", "ab\(token)", "abababab\(token)", "aaaa\(token)aaaa", "abcabc\(token)"] {
            let fields: [String: Any] = ["token": token, "id": 8, "nickname": text, "title": String(text.dropLast(5))]
            let imported = try Legacy.read(try Legacy.propertyList(fields))
            #expect(imported.account.profile.nickname == nil)
        }
        let fields: [String: Any] = ["token": token, "id": 8, "nickname": "\(token.dropLast())-\(token.dropFirst())"]
        #expect(try Legacy.read(try Legacy.propertyList(fields)).account.profile.nickname != nil)
    }

    @Test("Omits an imported field whose data contains an archive")
    func leavesOutInnerArchives() throws {
        let fields: [String: Any] = ["inner": try Legacy.archive(["password": "x"]), "xml": Legacy.xml("<true/>")]
        let imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: fields)))
        #expect(imported.account.profile == UserProfile())
        #expect(imported.warnings.count == 2)
    }

    @Test("Sanitizes field names in import warnings and limits their number")
    func warnsSafely() throws {
        var fields: [String: Any] = ["\u{1B}[2Jpassword": 1, String(repeating: "p", count: 200) + "wd": 1]
        var imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: fields)))
        #expect(imported.warnings.contains("`??2Jpassword` was left out: it looks like a secret."))
        #expect(imported.warnings.allSatisfy { $0.count < 120 && !$0.contains("\u{1B}") })
        for number in 0..<500 { fields["password\(number)"] = 1 }
        imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: fields)))
        #expect(imported.warnings.count == 51)
        #expect(imported.warnings.last == "452 more fields were left out.")
    }

    @Test("Hides the tokens of an imported account that is printed")
    func printsNoToken() throws {
        let imported = try Legacy.read(try Legacy.archive(Legacy.allFields))
        var dumped = ""
        dump(imported, to: &dumped)
        #expect(!dumped.contains("canary"))
        #expect(!"\(imported)".contains("canary"))
    }
}
