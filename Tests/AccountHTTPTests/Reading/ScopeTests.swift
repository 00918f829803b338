import AccountKit
import Testing

@testable import AccountHTTP

struct ScopeTests {
    @Test(arguments: [
        ("openid\tprofile", ["openid", "profile"]), ("openid  \n profile ", ["openid", "profile"]),
        ("a\"b openid", ["openid"]), (#"a\b openid"#, ["openid"]), ("öffnen openid", ["openid"]),
        ("a\u{1B}[31mb openid", ["openid"]), ("openid\u{7F}", []), ("", []),
        ("https://api.example/read:all", ["https://api.example/read:all"]),
    ])
    func `Splits granted scopes at white space and omits invalid scopes`(
        text: String, scopes: [String]
    ) throws {
        #expect(Scope.scopes(in: text) == scopes)
        let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
            .replacing("\t", with: "\\t").replacing("\n", with: "\\n").replacing("\u{1B}", with: "\\u001b")
        for value in ["\"\(escaped)\"", "[\"\(escaped)\"]"] {
            let response = ServiceResponse.json(200, #"{"access_token":"a","scope":\#(value)}"#)
            #expect(try ResponseParser(.token).credentials(in: response, for: "tool").scopes == scopes)
        }
    }
}
